"""Brokers in one process, with ordered links and without I/O: for tests of the machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

from attrs import Factory, define, evolve, frozen

from joinproto.standby.broker import Role, Variant
from joinproto.standby.events import (
    Answer,
    Commit,
    Declare,
    Draft,
    Effect,
    Event,
    Gone,
    Linked,
    More,
    New,
    Promote,
    Received,
    Send,
    Start,
    ViewWritten,
    Written,
)
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import Change, Content, Kind, View, WiringItem, from_tree, to_tree
from joinproto.standby.perform import perform
from joinproto.standby.primary_state import Keeper, PrimaryState, Who

Sent = TypeVar("Sent")


@define
class Cluster:
    """Brokers and the links between them.

    `confirmed`: the tokens of confirmed requests.  `said`: all effects so far.  `holds_views`: a
    view is not written before the test does it; until then it is in `views_wait`.
    """

    brokers: dict[str, Broker] = Factory(dict)
    links: dict[tuple[str, str], deque[Any]] = Factory(dict)
    confirmed: list[int] = Factory(list)
    said: list[Effect] = Factory(list)
    views_wait: list[View] = Factory(list)
    holds_views: bool = False
    token: int = 0

    @classmethod
    def of(cls, *names: str, **who: Any) -> Cluster:
        made = cls({name: Broker(who=Who(me=name, **who)) for name in names})
        for name in names:
            made.do(name, Start())
        return made

    def do(self, name: str, event: Event) -> tuple[Effect, ...]:
        """Give the broker an event, and put its messages on the links."""
        found = step(self.brokers[name], event)
        self.brokers[name] = found.state
        self.said += found.effects
        for effect in found.effects:
            perform(effect, _Ports(self, name))
        return found.effects

    def promote(self, name: str, **more: Any) -> Answer:
        effects = self.do(name, Promote(**more))
        return next(one for one in effects if isinstance(one, Answer))

    def link(self, name: str, primary: str) -> None:
        self.do(name, Linked(primary))

    def cut(self, one: str, other: str, *, tell: bool = True) -> None:
        for ends in ((one, other), (other, one)):
            self.links.pop(ends, None)
            if not tell:
                continue
            me, them = ends
            self.do(me, Gone(them))

    def pass_on(self, sender: str, to: str, count: int = 1) -> None:
        """Deliver `count` messages of a link."""
        for _ in range(count):
            content = from_tree(self.links[sender, to].popleft())
            self.do(to, Received(sender, content))

    def run(self) -> None:
        """Deliver all messages, and copy all queues."""
        while True:
            waiting = [ends for ends, queue in self.links.items() if queue]
            if waiting:
                self.pass_on(*waiting[0])
                continue
            copying = [
                (name, backup, queue)
                for name, broker in self.brokers.items()
                if isinstance(broker.side, PrimaryState)
                for backup, one in broker.side.followers.items()
                for queue, line in one.copying.items()
                if line.blocks
            ]
            if not copying:
                return
            name, backup, queue = copying[0]
            self.do(name, More(backup, queue))

    def sent(self, kind: type[Sent]) -> list[Sent]:
        """Return all messages of this kind that were sent."""
        sends = (one.content for one in self.said if isinstance(one, Send))
        return [one for one in sends if isinstance(one, kind)]

    # -- actions of clients -------------------------------------------------------------------

    def commit(self, name: str, *drafts: Draft) -> int:
        self.token += 1
        self.do(name, Commit(self.token, drafts))
        return self.token

    def publish(self, name: str, *ids: str, queue: str = "q", **more: Any) -> int:
        news = tuple(New(id=one, **more) for one in ids)
        return self.commit(name, Draft(queue=queue, puts=news))

    def take(self, name: str, *ids: str, queue: str = "q") -> int:
        line = self.brokers[name].replica.queues[queue].messages
        return self.commit(
            name, Draft(queue=queue, takes=tuple(one for one in line if one.id in ids))
        )

    def declare(self, name: str, queue: str = "q", which: str = "1", **more: Any) -> int:
        self.token += 1
        thing = WiringItem(kind=Kind.QUEUE, name=queue, id=which, **more)
        self.do(name, Declare(self.token, thing))
        return self.token

    def ids(self, name: str, queue: str = "q") -> tuple[str, ...]:
        return self.brokers[name].replica.queues[queue].messages.ids

    def role(self, name: str) -> Role:
        return self.brokers[name].role

    def change(self, name: str, **changes: Any) -> None:
        """Replace the state of a broker's side."""
        broker = self.brokers[name]
        assert broker.side is not None
        self.brokers[name] = evolve(broker, side=evolve(broker.side, **changes))

    def members(self, name: str) -> tuple[str, ...]:
        return self.brokers[name].view.members


@frozen
class _Ports:
    """The ports of one broker: all writes are durable at once."""

    cluster: Cluster
    name: str

    def send(self, to: str, content: Content) -> None:
        self.cluster.links.setdefault((self.name, to), deque()).append(to_tree(content))

    def confirm(self, token: int) -> None:
        self.cluster.confirmed.append(token)

    def write(self, token: int, changes: Sequence[Change]) -> None:
        self.cluster.do(self.name, Written(token))

    def write_view(self, view: View) -> None:
        if self.cluster.holds_views:
            self.cluster.views_wait.append(view)
        else:
            self.cluster.do(self.name, ViewWritten(view))

    def leave(self, broker: str, why: str) -> None:
        self.cluster.cut(self.name, broker, tell=False)

    def _seen(self, *_: object) -> None:
        """Do nothing: tests look at the broker instead."""

    answer = keep_view = keep_mark = keep = make = remove = serve = turn = _seen


def pair(variant: Variant = Variant.OURS, keeper: Keeper = Keeper.OUTSIDE, **more: Any) -> Cluster:
    """Return a primary `a` and a backup `b` that is up to date; both have the queue `q`."""
    made = Cluster.of("a", "b", variant=variant, keeper=keeper, **more)
    made.promote("a")
    made.link("b", "a")
    made.declare("a")
    made.run()
    return made
