"""A story as one member of a world: the shipped brokers, their links, clients and a manager.

Each step is one event for one broker, by `joinproto.standby.machine.step`.  A link keeps the order
of its messages, and loses the messages under way when an end is gone.  Of a backup's reports only
its position counts, so the last report under way stands for all before it.

Source: hot standby, H1 to H10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from attrs import Factory, define, evolve

from joinproto.check.events import NOT_ENABLED, Maybe
from joinproto.machine.world import Death, MachineWorld
from joinproto.standby.best import best
from joinproto.standby.broker import Mark, Role, Store
from joinproto.standby.chain import may_promote, seen
from joinproto.standby.events import (
    Answer,
    Commit,
    Declare,
    Delete,
    Effect,
    Event,
    Gone,
    KeepMark,
    KeepView,
    Linked,
    More,
    Promote,
    Received,
    Start,
    Stop,
    Tick,
)
from joinproto.standby.machine import Broker
from joinproto.standby.machine import step as stepped
from joinproto.standby.managing import Managing, promotion, would
from joinproto.standby.messages import View
from joinproto.standby.peers import PeerReports, said_by
from joinproto.standby.perform import perform as performed
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.replica_state import with_queue
from joinproto.standby.tables import Verdict
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation
from joinproto_worlds.standby.ports import Act, Disk, PendingAction, Ports
from joinproto_worlds.standby.story import Manager, Op, Story, as_traced, draft_of

mutated = inside(lambda played: mutation(played.mutant))
LATE = 1e9  # seconds: after every deadline
UNINTERRUPTED = (
    *("dies", "stops in order", "is cut off", "is back in the network", "is marked clean"),
    *("loses its disk", "has its disk copied", "has an older disk put back"),
)
"""Events during which a broker does not die."""
BUDGETS = ("deaths", "starts", "cuts", "promotions", "stops", "wipes", "backups")
"""The fields of a story that say how often an event may happen."""


@define
class Played(MachineWorld[Event, Effect]):
    """A state of a story.  `op`: the number of the clients' next action; `confirmed`: the numbers
    of the confirmed actions.

    `chain`: the last view that the built-in manager has; `writing`: for a broker, a view on its way
    to that manager, or a promotion that the manager has and the broker has not heard of.
    `newest`: the youngest generation in which an action was confirmed.  `failed`: there was a
    moment at which no broker ran.  `left`: how often each event in `BUDGETS` may still happen.
    `writes`: writes under way to a disk, and the messages that wait for them.  `copies`: copies of
    the brokers' disks.
    """

    write_effects: ClassVar[tuple[type, ...]] = (KeepView, KeepMark)

    plot: Story
    mutant: str | None
    brokers: dict[str, Broker]
    chain: View
    writing: dict[str, View]
    op: int = 0
    confirmed: frozenset[int] = frozenset()
    left: dict[str, int] = Factory(lambda: dict.fromkeys(BUDGETS, 0))
    cut_off: str = ""
    newest: int = 0
    failed: bool = False
    writes: dict[str, tuple[PendingAction, ...]] = Factory(dict)
    copies: dict[str, Disk] = Factory(dict)

    # -- possible steps ----------------------------------------------------------------------

    @mutated
    def choices(self) -> Iterator[Any]:
        for choice in self._choices():
            yield choice
            act = choice if isinstance(choice, Act) else choice.event
            if self.plot.halfway and self.left["deaths"] and act.action not in UNINTERRUPTED:
                # On half-open connections a dead broker's messages may arrive later in any case.
                arrives = {False, not self.plot.half_open}
                yield from map(Maybe, self.deaths(act, sorted(arrives), tears=self.plot.power))

    def _choices(self) -> Iterator[Any]:
        left = self.left
        for name in self.plot.names:
            if left["backups"] and name not in self.copies:
                yield Maybe(Act("has its disk copied", name))
            if self.runs(name):
                yield from self._choices_of(name)
                continue
            if left["wipes"] and self.disk[name] != Disk():
                yield Maybe(Act("loses its disk", name))
            if left["backups"] and self.copies.get(name, self.disk[name]) != self.disk[name]:
                yield Maybe(Act("has an older disk put back", name))
            if left["starts"]:
                yield Maybe(Act("starts", name))
            if _may_mark(self, name):
                yield Maybe(Act("is marked clean", name))
        for (sender, to), content in self.links.items():
            if content and not (self.plot.half_open and self.cut_off in (sender, to)):
                yield Act("hears", to, sender)
        for sender, to in self._unnoticed():
            yield Act("notices the end of", to, sender)
        if self.cut_off and self.plot.heals:
            yield Act("is back in the network", self.cut_off)

    def _choices_of(self, name: str) -> Iterator[Any]:
        left, broker = self.left, self.brokers[name]
        if left["deaths"]:
            yield Maybe(Act("dies", name))
        if left["stops"] and (self.failed or not self.plot.stops_late):
            yield Maybe(Act("stops in order", name))
        if left["promotions"] and self._may_promote(name):
            yield Maybe(Act("is promoted", name))
        if left["cuts"] and not self.cut_off:
            yield Maybe(Act("is cut off", name))
        is_open = name != self.cut_off or self.plot.manager is not Manager.BUILT_IN
        if name in self.writing and is_open:
            yield Act("has its view written", name)
        if name in self.writes:
            yield Act("has written", name)
        if isinstance(broker.side, PrimaryState):
            if broker.side.deadline is not None and not self.plot.patient:
                yield Maybe(Act("waits no longer", name))
            if self.op < len(self.plot.ops):
                yield Act("is told what a client does", name)
            for backup in broker.side.followers:
                if self._copies(name, backup):
                    yield Act("copies to", name, backup)
        else:
            for other in self.plot.names:
                if self._connects(name, other):
                    yield Act("connects to", name, other)

    @mutated
    def receive(self, event: Act | Death[Act]) -> Any:
        if not self.enact(event):
            return NOT_ENABLED
        if self.plot.at_once:
            settle(self)
        return None

    def happen(self, act: Act) -> bool:
        name, other = act.broker, act.other
        match act.action:
            case "starts":
                self.left["starts"] -= 1
                disk = self.disk[name]
                self.tell(name, Start(mark=disk.mark, view=disk.view, replica=disk.read))
            case "is marked clean":
                self.disk[name] = evolve(self.disk[name], mark=Mark.CLEAN)
            case "loses its disk":
                self.left["wipes"] -= 1
                self.disk[name] = Disk()
            case "has its disk copied":
                self.copies[name] = self.disk[name]
            case "has an older disk put back":
                self.left["backups"] -= 1
                self.disk[name] = self.copies[name]
            case "dies":
                self.dies(name)
            case "stops in order":
                self.left["stops"] -= 1
                self.tell(name, Stop())
                self._end(name)
            case "is promoted":
                return self.promote(name)
            case "is cut off":
                self.left["cuts"] -= 1
                self.cut(name)
            case "is back in the network":
                self.cut_off = ""
            case "waits no longer":
                self.tell(name, Tick(LATE))
            case "is told what a client does":
                self.op += 1
                perform_op(self, name, self.op - 1, self.plot.ops[self.op - 1])
            case "copies to":
                self.tell(name, More(other, self._copies(name, other)))
            case "connects to":
                is_newer = (name, other) in self.links
                self.connect(name, other)
                if is_newer:
                    self._lose(other, name)
                self.tell(name, Linked(other))
            case "notices the end of":
                self.part(name, other)
            case "has its view written":
                Ports(self, name).handed_in(self.writing.pop(name))
            case "has written":
                Ports(self, name).written()
            case "hears":
                self.tell(name, Received(self._bare(other), self.take(other, name)))
        return True

    def story(self) -> dict[str, Any]:
        """Return the part of each state that a trace shows."""
        return as_traced(self)

    # -- effects of a step ----------------------------------------------------------------------

    def _bare(self, end: str) -> str:
        """Return the broker at this end of a link, without the mark of a second or former link."""
        return end.rstrip("?") if self.plot.apart or self.plot.half_open else end

    def _leading(self, name: str) -> PrimaryState:
        side = self.brokers[name].side
        assert isinstance(side, PrimaryState)
        return side

    def _copies(self, name: str, backup: str) -> str:
        """Return the name of a queue that is still copied to this backup, or ""."""
        one = self._leading(name).followers.get(backup)
        lines = {} if one is None else one.copying
        return next((queue for queue, line in sorted(lines.items()) if line.blocks), "")

    def _connects(self, name: str, other: str) -> bool:
        if not self.runs(other) or self.cut_off in (name, other):
            return False
        is_free = not any(to == name for _, to in self.links)
        return is_free and self.brokers[other].serves

    def runs(self, name: str) -> bool:
        return self.brokers[name].side is not None

    def step(self, name: str, event: Event) -> tuple[Effect, ...]:
        found = stepped(self.brokers[name], event)
        self.brokers[name] = found.state
        return found.effects

    def perform(self, name: str, effect: Effect) -> None:
        performed(effect, Ports(self, name))

    def dies(self, name: str) -> None:
        self.left["deaths"] -= 1
        for (sender, to), content in sorted(self.links.items()) if self.arrives else ():
            for one in content if self._bare(sender) == name else ():
                self.tell(to, Received(name, one))
        self._end(name)

    def lose_power(self, name: str, *, is_writing: bool = False) -> None:
        if is_writing:
            # The power goes between two writes: the journal is written, the view's record is not.
            Ports(self, name).append()
        super().lose_power(name, is_writing=is_writing)

    def _end(self, name: str) -> None:
        for waiting in (self.writing, self.writes):
            waiting.pop(name, None)
        self.brokers[name] = Broker(who=self.brokers[name].who)
        self.unlink(name)
        self.failed |= not any(map(self.runs, self.brokers))

    def _unnoticed(self) -> list[tuple[str, str]]:
        """Return the sender and receiver of each connection whose end the receiver must notice."""
        if not self.plot.half_open:
            return []
        cut = [ends for ends in self.links if self.cut_off in ends]
        return sorted({*self.half_open(), *cut})

    def part(self, one: str, other: str) -> None:
        """End a connection at both ends at once, or (`half_open`) at the end of `one` only."""
        if self.plot.half_open:
            self.close(one, other)
            self._lose(one, other)
            return
        for ends in [ends for ends in self.links if {*map(self._bare, ends)} == {one, other}]:
            del self.links[ends]
        self._lose(one, other)
        self._lose(other, one)

    def _lose(self, name: str, other: str) -> None:
        Ports(self, name).parted(other)
        if self.runs(name):
            self.tell(name, Gone(other))

    def unlink(self, name: str) -> None:
        for other in sorted({self._bare(sender) for sender, to in self.links if to == name}):
            self.part(name, other)

    def cut(self, name: str) -> None:
        self.cut_off = name
        if not self.plot.half_open:
            self.unlink(name)

    def _may_promote(self, name: str) -> bool:
        """Return whether the manager would try to promote this broker, which may still refuse."""
        manager, broker = self.plot.manager, self.brokers[name]
        able = self.plot.able or self.plot.names
        if name not in able or sum(map(self.runs, self.brokers)) < self.plot.least:
            return False
        if manager is Manager.UNFENCED:
            return not broker.serves
        if manager is Manager.BUILT_IN:
            is_free = name not in (self.cut_off, *self.writing)
            return may_promote(self.chain, name) and is_free and not broker.serves
        if any(one.serves for one in self.brokers.values()):
            return False
        members = youngest(self).members
        if manager is Manager.LAST:
            return self.failed
        if manager is Manager.KNOWING:
            return name in members
        return manager is Manager.CARELESS or not members or bool(broker.view.members)

    def promotion(self, name: str) -> Promote | None:
        """Return the manager's promotion of this broker, or None if it would not try one."""
        return self.promotion_of(name) if self._may_promote(name) else None

    def promotion_of(self, name: str, view: View | None = None) -> Promote:
        reports = _reports_to(self, name)
        if self.plot.manager is not Manager.BUILT_IN:
            return Promote(peers=reports.peers())
        manager = Managing(chain=self.chain)
        return promotion(
            manager, self.brokers[name], reports, continues=self.plot.continues, view=view
        )

    def promote(self, name: str) -> bool:
        event = self.promotion_of(name)
        if self.answer(name, event).verdict is not Verdict.ACCEPTED:
            return False
        self.left["promotions"] -= 1
        self.chain = event.view or self.chain
        if self.plot.late and event.view is not None:
            self.writing[name] = event.view
        else:
            self.tell(name, event)
        return True

    def answer(self, name: str, event: Promote) -> Answer:
        """Return this broker's answer to a promotion."""
        if self.plot.manager is Manager.BUILT_IN:
            managing = Managing(chain=self.chain)
            return would(managing, self.brokers[name], event, is_open=name != self.cut_off)
        effects = stepped(self.brokers[name], event).effects
        return next(one for one in effects if isinstance(one, Answer))


def perform_op(it: Played, name: str, token: int, op: Op) -> None:
    """Let the broker `name` handle a client's action; `token` is the action's number."""
    broker = it.brokers[name]
    if op.passes:
        queue = broker.replica.queues["q"]
        replica = with_queue(broker.replica, "q", evolve(queue, next=queue.next + op.passes))
        assert broker.side is not None
        it.disk[name] = disk = evolve(it.disk[name], replica=replica)
        it.brokers[name] = evolve(broker, side=evolve(broker.side, replica=disk.read))
        it.confirmed |= {token}
    if op.declares is not None:
        it.tell(name, Declare(token, op.declares))
    elif op.deletes is not None:
        it.tell(name, Delete(token, op.deletes))
    elif op.puts or op.takes:
        queues = sorted({queue for queue, _ in (*op.puts, *op.takes)})
        drafts = tuple(draft_of(broker.replica, op, queue) for queue in queues)
        it.tell(name, Commit(token, drafts))


def youngest(it: Played) -> View:
    """Return the youngest view of all brokers, whether they run or not."""
    views = [one.view for one in it.brokers.values()]
    views += [disk.view for disk in it.disk.values()]
    return max(views, key=lambda view: view.age)


def _may_mark(it: Played, name: str) -> bool:
    """Return whether an operator may mark this store clean (`Story.marks`)."""
    marks, runs = it.plot.marks, any(map(it.runs, it.brokers))
    if it.disk[name].mark is Mark.CLEAN or (runs and marks != "left"):
        return False
    if any(one.serves for one in it.brokers.values()):
        return False
    found = best([store_of(one, disk) for one, disk in sorted(it.disk.items())])
    is_best = found.proven and found.store is not None and found.store.name == name
    return marks == "any" or (marks != "" and is_best)


@mutated
def refuses(it: Played, name: str) -> bool:
    """Return whether this broker would refuse to be primary."""
    return not it.answer(name, it.promotion_of(name)).is_accepted


def _reports_to(it: Played, name: str) -> PeerReports:
    """Return the reports of the other brokers that this broker has."""
    away = {*(it.brokers if it.cut_off == name else (it.cut_off,))}
    others = {other: one for other, one in it.brokers.items() if other != name}
    return PeerReports(
        others={
            other: said_by(one) if it.runs(other) and other not in away else None
            for other, one in others.items()
        }
    )


def store_of(name: str, disk: Disk) -> Store:
    """Return the parts of a store that `best` reads."""
    found = seen(name, Role.CONNECTING, Role.CONNECTING, disk.mark, disk.view)
    assert found is not None
    return found


def settle(it: Played) -> None:
    """Deliver all messages, copies and writes that are under way."""
    while True:
        acts = (one for one in it.choices() if isinstance(one, Act))
        act = next((one for one in acts if one.action in _DELIVERIES), None)
        if act is None:
            return
        it.enact(act)


_DELIVERIES = ("hears", "copies to", "has written", "has its view written")
