"""Brokers in one process, with links in order and nothing between: for tests of the machine."""

from __future__ import annotations

from collections import deque
from typing import Any

from attrs import Factory, define, evolve

from joinproto.standby.broker import Role, Variant
from joinproto.standby.events import (
    Answer,
    Commit,
    Confirm,
    Declare,
    Draft,
    Gone,
    Leave,
    Linked,
    Lost,
    More,
    New,
    Promote,
    Received,
    Send,
    Start,
    ViewWritten,
    Write,
    WriteView,
    Written,
)
from joinproto.standby.leading import Keeper, Leading, Who
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import Kind, Thing
from joinproto.standby.wire import from_tree, to_tree


@define
class Cluster:
    """`holds`: whose store answers only when it is told to; `confirmed`: tokens."""

    brokers: dict[str, Broker] = Factory(dict)
    links: dict[tuple[str, str], deque[Any]] = Factory(dict)
    confirmed: list[int] = Factory(list)
    said: list[Any] = Factory(list)
    views_wait: list[WriteView] = Factory(list)
    holds_views: bool = False
    token: int = 0

    @classmethod
    def of(cls, *names: str, **who: Any) -> Cluster:
        made = cls({name: Broker(who=Who(me=name, **who)) for name in names})
        for name in names:
            made.do(name, Start())
        return made

    def do(self, name: str, event: Any) -> list[Any]:
        """Let the broker take an event; what it sends is under way then."""
        found = step(self.brokers[name], event)
        self.brokers[name] = found.state
        self.said += found.effects
        for effect in found.effects:
            match effect:
                case Send(to, content):
                    self.links.setdefault((name, to), deque()).append(to_tree(content))
                case Confirm(token):
                    self.confirmed.append(token)
                case Write(token, _):
                    self.do(name, Written(token))
                case WriteView(view):
                    if self.holds_views:
                        self.views_wait.append(effect)
                    else:
                        self.do(name, ViewWritten(view))
                case Leave(other, _):
                    self.cut(name, other, tell=False)
        return list(found.effects)

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
            self.do(me, Gone(them) if self.brokers[me].serves else Lost())

    def pass_on(self, sender: str, to: str, count: int = 1) -> None:
        """Let `count` messages of a link arrive."""
        for _ in range(count):
            content = from_tree(self.links[sender, to].popleft())
            self.do(to, Received(sender, content))

    def run(self) -> None:
        """Let everything arrive, and everything be copied."""
        while True:
            waiting = [ends for ends, queue in self.links.items() if queue]
            if waiting:
                self.pass_on(*waiting[0])
                continue
            copying = [
                (name, backup, queue)
                for name, broker in self.brokers.items()
                if isinstance(broker.side, Leading)
                for backup, one in broker.side.followers.items()
                for queue, line in one.copying.items()
                if line.blocks
            ]
            if not copying:
                return
            name, backup, queue = copying[0]
            self.do(name, More(backup, queue))

    def sent(self, kind: type) -> list[Send]:
        """Return all that was ever sent of a kind."""
        return [one for one in self.said if isinstance(one, Send) and isinstance(one.content, kind)]

    # -- what a client does ------------------------------------------------------------------

    def commit(self, name: str, *drafts: Draft) -> int:
        self.token += 1
        self.do(name, Commit(self.token, drafts))
        return self.token

    def publish(self, name: str, *ids: str, queue: str = "q", **more: Any) -> int:
        news = tuple(New(id=one, **more) for one in ids)
        return self.commit(name, Draft(queue=queue, puts=news))

    def take(self, name: str, *ids: str, queue: str = "q") -> int:
        line = self.brokers[name].stock.queues[queue].line
        return self.commit(
            name, Draft(queue=queue, takes=tuple(one for one in line if one.id in ids))
        )

    def declare(self, name: str, queue: str = "q", which: str = "1", **more: Any) -> int:
        self.token += 1
        thing = Thing(kind=Kind.QUEUE, name=queue, id=which, **more)
        self.do(name, Declare(self.token, thing))
        return self.token

    def ids(self, name: str, queue: str = "q") -> tuple[str, ...]:
        return self.brokers[name].stock.queues[queue].line.ids

    def role(self, name: str) -> Role:
        return self.brokers[name].role

    def change(self, name: str, **changes: Any) -> None:
        """Let another state stand in the place of a broker's: of its side."""
        broker = self.brokers[name]
        assert broker.side is not None
        self.brokers[name] = evolve(broker, side=evolve(broker.side, **changes))

    def members(self, name: str) -> tuple[str, ...]:
        return self.brokers[name].view.members


def pair(variant: Variant = Variant.OURS, keeper: Keeper = Keeper.OUTSIDE, **more: Any) -> Cluster:
    """Return a primary `a` and a backup `b` that is up to date; both have the queue `q`."""
    made = Cluster.of("a", "b", variant=variant, keeper=keeper, **more)
    made.promote("a")
    made.link("b", "a")
    made.declare("a")
    made.run()
    return made
