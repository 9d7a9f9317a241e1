"""A story as one member of a world: brokers that ship, their links, clients, a manager.

Each step is one event for one broker, by `joinproto.standby.machine.step`.  A link keeps the order
of what it carries, and loses what is under way when an end is gone; of what a backup says only how
far it is counts, so the last word stands for all before it.

Source: hot standby, H1 to H10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, evolve, fields

from joinproto.check.events import NOT_ENABLED, Maybe
from joinproto.standby.around import Around, said_by
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
    Linked,
    More,
    Promote,
    Received,
    Start,
    Stop,
    Superseded,
    Tick,
    ViewWritten,
)
from joinproto.standby.leading import Leading
from joinproto.standby.machine import Broker, step
from joinproto.standby.managing import Due, Managing, appended, decided, is_over, promotion
from joinproto.standby.messages import View
from joinproto.standby.perform import perform
from joinproto.standby.stock import with_queue
from joinproto.standby.tables import Verdict
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation
from joinproto_worlds.standby.ports import EFFECTS_MAX, WHOLE, Act, Disk, Dying, Ports
from joinproto_worlds.standby.story import Manager, Op, Story, draft_of

mutated = inside(lambda played: mutation(played.mutant))
LATE = 1e9  # seconds: after every deadline


@define
class Played:
    """`op`: the next deed of the clients; `confirmed`: those that they were told are done.

    `chain`: the last view of the manager that is built in; `writing`: views under way to it, or
    promotions that are in it, and of which who is promoted has not heard.
    `newest`: the youngest generation in which anything was confirmed.  `failed`: there was a
    moment at which nobody ran.  `stops`: how often a broker may still stop in order.
    """

    story: Story
    mutant: str | None
    brokers: dict[str, Broker]
    disks: dict[str, Disk]
    links: dict[tuple[str, str], tuple[Any, ...]]
    chain: View
    writing: dict[str, View]
    op: int = 0
    confirmed: frozenset[int] = frozenset()
    left: tuple[int, int, int, int] = (0, 0, 0, 0)
    cut_off: str = ""
    newest: int = 0
    failed: bool = False
    stops: int = 0
    dying: Dying | None = None  # never at rest

    # -- what may happen ---------------------------------------------------------------------

    @mutated
    def choices(self) -> Iterator[Any]:
        deaths, *_ = self.left
        for choice in self._choices():
            yield choice
            act = choice if isinstance(choice, Act) else choice.event
            if self.story.halfway and deaths and act.what not in WHOLE:
                for after in range(1, EFFECTS_MAX):
                    yield Maybe(evolve(act, after=after))
                    yield Maybe(evolve(act, after=after, arrives=True))

    def _choices(self) -> Iterator[Any]:
        _, starts, _, _ = self.left
        for name in self.story.names:
            if name in self.disks:
                if starts:
                    yield Maybe(Act("starts", name))
                if _may_mark(self, name):
                    yield Maybe(Act("is marked clean", name))
            else:
                yield from self._of_one(name)
        for (sender, to), content in self.links.items():
            if content:
                yield Act("hears", to, sender)
        if self.cut_off and self.story.heals:
            yield Act("is back in the network", self.cut_off)

    def _of_one(self, name: str) -> Iterator[Any]:
        deaths, _, cuts, promotions = self.left
        broker = self.brokers[name]
        if deaths:
            yield Maybe(Act("dies", name))
        if self.stops and (self.failed or not self.story.stops_late):
            yield Maybe(Act("stops in order", name))
        if promotions and self._may_promote(name):
            yield Maybe(Act("is promoted", name))
        if cuts and not self.cut_off:
            yield Maybe(Act("is cut off", name))
        if name in self.writing and name != self.cut_off:
            yield Act("has its view written", name)
        if isinstance(broker.side, Leading):
            if broker.side.deadline is not None and not self.story.patient:
                yield Maybe(Act("waits no longer", name))
            if self.op < len(self.story.ops):
                yield Act("is told what a client does", name)
            for backup in broker.side.followers:
                if self._copies(name, backup):
                    yield Act("copies to", name, backup)
        else:
            for other in self.story.names:
                if self._connects(name, other):
                    yield Act("connects to", name, other)

    @mutated
    def receive(self, event: Act) -> Any:
        found = _dies_halfway(self, event) if event.after else self._happens(event)
        if self.story.at_once and found is not NOT_ENABLED:
            settle(self)
        return found

    def _happens(self, event: Act) -> Any:
        name, other = event.who, event.other
        deaths, starts, cuts, promotions = self.left
        match event.what:
            case "starts":
                self.left = (deaths, starts - 1, cuts, promotions)
                self._start(name)
            case "is marked clean":
                self.disks[name] = evolve(self.disks[name], mark=Mark.CLEAN)
            case "dies":
                self.left = (deaths - 1, starts, cuts, promotions)
                self._end(name, Mark.DIRTY)
            case "stops in order":
                self.stops -= 1
                (kept,) = step(self.brokers[name], Stop()).effects
                assert isinstance(kept, KeepMark)
                self._end(name, kept.mark)
            case "is promoted":
                return self._promote(name)
            case "is cut off":
                self.left = (deaths, starts, cuts - 1, promotions)
                self._cut(name)
            case "is back in the network":
                self.cut_off = ""
            case "waits no longer":
                self._do(name, Tick(LATE))
            case "is told what a client does":
                self.op += 1
                self._does(name, self.op - 1, self.story.ops[self.op - 1])
            case "copies to":
                self._do(name, More(other, self._copies(name, other)))
            case "connects to":
                self.links[name, other] = self.links[other, name] = ()
                self._do(name, Linked(other))
            case "has its view written":
                self._written(name, self.writing.pop(name))
            case "hears":
                content, *rest = self.links[other, name]
                self.links[other, name] = tuple(rest)
                self._do(name, Received(self._bare(other), content))
        return None

    # -- how it happens ----------------------------------------------------------------------

    def _bare(self, end: str) -> str:
        return end.rstrip("?") if self.story.apart else end

    def _leading(self, name: str) -> Leading:
        side = self.brokers[name].side
        assert isinstance(side, Leading)
        return side

    def _copies(self, name: str, backup: str) -> str:
        """Return a queue that is still copied to this backup, or nothing."""
        one = self._leading(name).followers.get(backup)
        lines = {} if one is None else one.copying
        return next((queue for queue, line in sorted(lines.items()) if line.blocks), "")

    def _connects(self, name: str, other: str) -> bool:
        if other in self.disks or self.cut_off in (name, other):
            return False
        is_free = not any(one == name for one, _ in self.links)
        return is_free and self.brokers[other].serves

    def _do(self, name: str, event: Event) -> tuple[Effect, ...]:
        found = step(self.brokers[name], event)
        self.brokers[name] = found.state
        dying = self.dying
        for effect in found.effects:
            if dying is not None and dying.name == name:
                if not dying.left:
                    dying.is_dead = True
                    break
                dying.left -= 1
            perform(effect, Ports(self, name))
        return found.effects

    def _part(self, one: str, other: str) -> None:
        for ends in [ends for ends in self.links if {*map(self._bare, ends)} == {one, other}]:
            del self.links[ends]
        for me, them in ((one, other), (other, one)):
            if me not in self.disks:
                self._do(me, Gone(them))

    def _unlink(self, name: str) -> None:
        for other in sorted({to for sender, to in self.links if sender == name}):
            self._part(name, other)

    def _cut(self, name: str) -> None:
        self.cut_off = name
        self._unlink(name)

    def _end(self, name: str, mark: Mark) -> None:
        broker = self.brokers[name]
        self.disks[name] = Disk(view=broker.view, stock=broker.stock, mark=mark)
        self.writing.pop(name, None)
        self._unlink(name)
        self.brokers[name] = Broker(who=broker.who)
        self.failed |= len(self.disks) == len(self.brokers)

    def _start(self, name: str) -> None:
        disk = self.disks.pop(name)
        self._do(name, Start(mark=disk.mark, view=disk.view, stock=disk.stock))

    def _may_promote(self, name: str) -> bool:
        """Return whether the manager would try; what the broker answers is another matter."""
        manager, broker = self.story.manager, self.brokers[name]
        able = self.story.able or self.story.names
        if name not in able or len(self.brokers) - len(self.disks) < self.story.least:
            return False
        if manager is Manager.UNFENCED:
            return not broker.serves
        if manager is Manager.BUILT_IN:
            is_free = name not in (self.cut_off, *self.writing)
            return may_promote(self.chain, name) and is_free and not broker.serves
        if any(one.serves for one in self.brokers.values()):
            return False
        was_one = youngest(self).members
        if manager is Manager.LAST:
            return self.failed
        if manager is Manager.KNOWING:
            return name in was_one
        return manager is Manager.CARELESS or not was_one or bool(broker.view.members)

    def promotion(self, name: str) -> Promote | None:
        """Return what the manager would say to this broker; None: nothing now."""
        return self._promotion(name) if self._may_promote(name) else None

    def _promotion(self, name: str, view: View | None = None) -> Promote:
        around = _around(self, name)
        if self.story.manager is not Manager.BUILT_IN:
            return Promote(peers=around.peers())
        manager = Managing(chain=self.chain)
        return promotion(
            manager, self.brokers[name], around, continues=self.story.continues, view=view
        )

    def _promote(self, name: str) -> Any:
        deaths, starts, cuts, promotions = self.left
        event = self._promotion(name)
        is_late = self.story.late and event.view is not None
        effects = step(self.brokers[name], event).effects if is_late else self._do(name, event)
        answer = next(one for one in effects if isinstance(one, Answer))
        if answer.verdict is not Verdict.ACCEPTED:
            return NOT_ENABLED
        self.left = (deaths, starts, cuts, promotions - 1)
        if event.view is not None:
            self.chain = event.view
            if is_late:
                self.writing[name] = event.view
        return None

    def _written(self, name: str, view: View) -> None:
        """The chain takes a view right behind its last one, and no other."""
        if view.number == 1:  # a promotion, which is there already; another one may be behind it
            manager, fits = Managing(chain=self.chain, asked=view), True
        else:
            manager, fits = appended(Managing(chain=self.chain, writing=view), view)
            self.chain = manager.chain
        manager, due = decided(manager, view, fits=fits)
        if due is Due.PROMOTED:
            self._do(name, self._promotion(name, view))
        elif due is Due.WRITTEN:
            self._do(name, ViewWritten(view))
        if is_over(manager, self.brokers[name]):
            self._do(name, Superseded(self.chain))

    def _does(self, name: str, token: int, op: Op) -> None:
        stock = self.brokers[name].stock
        if op.passes:
            queue = stock.queues["q"]
            stock = with_queue(stock, "q", evolve(queue, next=queue.next + op.passes))
            broker = self.brokers[name]
            assert broker.side is not None
            self.brokers[name] = evolve(broker, side=evolve(broker.side, stock=stock))
            self.confirmed |= {token}
        if op.declares is not None:
            self._do(name, Declare(token, op.declares))
        elif op.deletes is not None:
            self._do(name, Delete(token, op.deletes))
        elif op.puts or op.takes:
            queues = sorted({queue for queue, _ in (*op.puts, *op.takes)})
            self._do(
                name,
                Commit(
                    token,
                    tuple(
                        draft_of(stock, op, queue, durable=self.story.halfway) for queue in queues
                    ),
                ),
            )


def copied(story: Played, **changes: Any) -> Played:
    """Return another story that is as far as this one."""
    own = {name: dict(getattr(story, name)) for name in ("brokers", "disks", "links", "writing")}
    return evolve(story, **{**own, **changes})


def youngest(it: Played) -> View:
    """Return the youngest view of all brokers, whether they run or not."""
    views = [one.view for one in it.brokers.values()]
    views += [disk.view for disk in it.disks.values()]
    return max(views, key=lambda view: view.age)


def _may_mark(it: Played, name: str) -> bool:
    """An operator marks a store after a total failure: when nobody runs, or nobody serves."""
    marks, runs = it.story.marks, {**it.brokers}
    for stopped in it.disks:
        del runs[stopped]
    if it.disks[name].mark is Mark.CLEAN or (runs and marks != "left"):
        return False
    if any(one.serves for one in runs.values()):
        return False
    there = {one: Disk(has.view, has.stock, Mark.DIRTY) for one, has in runs.items()}
    found = best([store_of(one, disk) for one, disk in sorted({**it.disks, **there}.items())])
    is_best = found.proven and found.store is not None and found.store.name == name
    return marks == "any" or (marks != "" and is_best)


@mutated
def refuses(it: Played, name: str) -> bool:
    """Return whether this broker would refuse to be primary."""
    effects = step(it.brokers[name], it._promotion(name)).effects
    return not any(isinstance(one, Answer) and one.is_accepted for one in effects)


def _dies_halfway(story: Played, event: Act) -> Any:
    """Let it happen, until the broker dies between two of its effects."""
    name, broker = event.who, story.brokers[event.who]
    kept = Disk(view=broker.view, stock=broker.stock, mark=Mark.DIRTY)
    dying = Dying(name, story.disks.get(name, kept), event.after)
    it = copied(story, dying=dying)
    if it._happens(event) is NOT_ENABLED or not dying.is_dead:
        return NOT_ENABLED
    for (sender, to), content in sorted(it.links.items()) if event.arrives else ():
        for one in content if sender == name else ():
            it._do(to, Received(name, one))
    it._end(name, Mark.DIRTY)
    it.disks[name] = dying.kept
    deaths, starts, cuts, promotions = it.left
    it.left, it.dying = (deaths - 1, starts, cuts, promotions), None
    for field in fields(Played):
        setattr(story, field.name, getattr(it, field.name))
    return None


def _around(it: Played, name: str) -> Around:
    """Return what this broker hears of the others."""
    away = {*it.disks, *(it.brokers if it.cut_off == name else (it.cut_off,))}
    others = {other: one for other, one in it.brokers.items() if other != name}
    return Around(
        others={other: None if other in away else said_by(one) for other, one in others.items()}
    )


def store_of(name: str, disk: Disk) -> Store:
    """Return what `best` reads of a store."""
    found = seen(name, Role.CONNECTING, Role.CONNECTING, disk.mark, disk.view)
    assert found is not None
    return found


def settle(it: Played) -> None:
    """Let everything that is under way arrive."""
    while True:
        acts = (one for one in it.choices() if isinstance(one, Act))
        act = next((one for one in acts if one.what in _BY_ITSELF), None)
        if act is None:
            return
        it._happens(act)


_BY_ITSELF = ("hears", "copies to", "has its view written")
