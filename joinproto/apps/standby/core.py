"""The host of a broker: it tells the machine what happens, and does what that one says.

What clients do in one turn of the event loop is one commit of the machine, what is to be kept goes
to the disk in one fsync, and a backup answers once.  So the dearest things are paid for once for
many messages.  Nothing is decided here: see `joinproto/standby/machine.py`.

The machine takes an event at once.  Its effects are done in their order, and wait for the disk; the
event loop does not (`performing.py`).  So there are two states: `state` is the machine's; of
`shown` all effects are done, and others are told of this one.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from joinproto.apps.standby.bodies import Bodies
from joinproto.apps.standby.clients import Clients
from joinproto.apps.standby.copying import AGAIN_SECONDS, Copies
from joinproto.apps.standby.keeping.disk import Disk
from joinproto.apps.standby.keeping.form import Kept
from joinproto.apps.standby.links import Links, Outgoing
from joinproto.apps.standby.performing import AtOnce, Line, Work, Worker
from joinproto.apps.standby.settings import Settings
from joinproto.errors import JoinprotoError
from joinproto.host.eventlog import EventLog
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.events import (
    Answer,
    Confirm,
    Demote,
    Keep,
    KeepMark,
    KeepView,
    Leave,
    Make,
    Promote,
    Remove,
    Send,
    Serve,
    Start,
    Stop,
    Tick,
    Turn,
    ViewWritten,
    Write,
    WriteView,
    Written,
)
from joinproto.standby.leading import Keeper, Who
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import View
from joinproto.standby.tables import Verdict

if TYPE_CHECKING:
    from joinproto.apps.standby.managing import Manager

log = logging.getLogger("joinproto.standby")

ENDS = Answer(Verdict.REFUSED, "H1", "this broker ends")


@frozen
class Reached:
    """All effects that led to this state are done."""

    state: Broker


@frozen
class TurnEnds:
    """What was done in this turn of the event loop goes to the disk."""


@frozen
class HasView:
    """The manager has this view: our own store has it next."""

    view: View


@frozen
class Keeping:
    """The machine's effect, with whom it followed then."""

    view: View
    teller: str | None


@define(eq=False)
class Core:
    """One broker.  `manager`: the one built in; None: it is outside.  `failure`: why it ended."""

    settings: Settings
    disk: Disk
    events: EventLog
    worker: Worker = field(factory=AtOnce)
    links: Links = field(init=False)
    state: Broker = field(init=False)
    shown: Broker = field(init=False)
    bodies: Bodies = field(init=False)
    clients: Clients = field(init=False)
    copies: Copies = field(init=False)
    manager: Manager | None = field(init=False, default=None)
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: BaseException | None = None
    patience: float = field(init=False)
    _line: Line = field(init=False)
    _to_answer: list[Any] = field(factory=list)  # Write and WriteView, once on the disk
    _outbox: list[Outgoing] = field(factory=list)  # behind what is not on the disk yet
    _turn_is_due: bool = False
    _is_stopping: bool = False

    def __attrs_post_init__(self) -> None:
        """Do not run yet."""
        who = Who(
            me=self.settings.broker,
            variant=Variant.OURS,
            keeper=Keeper.BUILT_IN if self.settings.chain else Keeper.OUTSIDE,
            default=self.settings.default,
            order=self.settings.copying.order,
        )
        self.state = self.shown = Broker(who=who)
        self._line = Line(self._effect, self._fail, self.worker)
        self.bodies = Bodies(self.disk)
        self.patience = self.settings.timing.backups
        self.links = Links(self)
        self.clients = Clients(self, set())
        self.copies = Copies(self)

    def start(self) -> None:
        """Be a backup that looks for its primary; from now on a crash leaves a dirty store."""
        kept = self.kept
        self.do(Start(mark=kept.mark, view=kept.view, stock=self.bodies.stock))
        self.say("started", mark=kept.mark.value, generation=kept.view.generation)

    async def stop(self, *, in_order: bool = True) -> None:
        """End: what was confirmed is on the disk, and so is what the machine says of this end."""
        if self.ended.is_set() or self._is_stopping:
            return
        if in_order:
            self._turn()
            await self._line.settled()
        self.do(Stop(in_order=in_order))
        self._is_stopping = True
        await self._line.settled()
        if self.failure is None and in_order:
            self.say("stopped")
        self.ended.set()

    @property
    def kept(self) -> Kept:
        return self.disk.kept

    @property
    def role(self) -> Role:
        return self.shown.role

    @property
    def serves(self) -> bool:
        """Return whether it is primary, by the machine: others may not know it yet."""
        return self.state.serves

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def say(self, kind: str, **facts: object) -> None:
        """Write a line of the event log."""
        self.events.write(kind, broker=self.settings.broker, **facts)

    def _to_keep(self, **changes: Any) -> Work:
        """Return what has our own store keep these, behind all that was done before."""
        return Work(partial(self.disk.keep, self.bodies.unwritten(), **changes))

    def _fail(self, error: BaseException) -> None:
        # After a failed write nothing is confirmed any more: the process ends.
        log.error("%s", error)
        self.failure = self.failure or error
        self.ended.set()
        self._line.clear()

    # -- the machine -----------------------------------------------------------------------

    def do(self, event: Any) -> list[Any]:
        """Let the machine take an event; return its effects, which are done, or will be."""
        if self.ended.is_set() or self._is_stopping:
            return []
        before = self.state
        try:
            found = step(before, event)
        except JoinprotoError as error:
            self._fail(error)
            return []
        self.state = found.state
        effects = [self._bound(effect) for effect in found.effects]
        is_same = before.role is self.state.role and before.standing is self.state.standing
        if not is_same or before.view is not self.state.view:
            effects.append(Reached(self.state))
        self._line.put(*effects)
        return list(found.effects)

    def _bound(self, effect: Any) -> Any:
        """Return an effect with what it is about at this moment: it may be done later."""
        match effect:
            case Send():
                return self.links.bound(effect)
            case KeepView(view):
                return Keeping(view, self.links.following)
            case Turn():
                self.links.forget()
            case Leave(broker, why):
                log.warning("no link with %s: %s", broker, why)
                self.links.leave(broker)
        return effect

    def _effect(self, effect: Any) -> Work | None:
        """Do it; return what blocks, and then what is to be told."""
        match effect:
            case Outgoing():
                if self.bodies.has_unwritten or self._outbox:
                    self._outbox.append(effect)
                    self.touched()
                else:
                    self.links.send(effect)
            case Keep(changes):
                for change in changes:
                    self.bodies.change(change)
                self.touched()
            case Write(_, changes):
                for change in changes:
                    self.bodies.change(change, is_awaited=True)
                self._to_answer.append(effect)
                self.touched()
            case WriteView():
                self._to_answer.append(effect)
                self.touched()
            case Keeping(view, teller):
                kept = self._to_keep(view=view, cluster=self.links.cluster_of(view, teller))
                return evolve(kept, then=partial(self._say_view, view))
            case HasView(view):
                if self.serves:
                    return evolve(self._to_keep(view=view), then=partial(self._has_view, view))
            case KeepMark(mark):
                return self._to_keep(clean=mark is Mark.CLEAN)
            case Make(thing):
                self.bodies.make(thing)
                self.touched()
            case Remove(thing):
                self.bodies.remove(thing)
                self.clients.removed(thing.name)
                self.touched()
            case Confirm(token):
                self.clients.confirm(token)
            case Serve(generation):
                self.clients.serve(generation)
            case Turn(why):
                self.clients.close(why)
                self._to_answer.clear()
                self._outbox.clear()
            case Reached(state):
                self._reached(state)
            case TurnEnds():
                return self._turn_ends()
        return None

    def _reached(self, state: Broker) -> None:
        before, self.shown = self.shown, state
        if state.role is before.role:
            return
        generation = state.view.generation
        log.info("%s -> %s, generation %d", before.role.value, state.role.value, generation)
        self.say("role", was=before.role.value, role=state.role.value, generation=generation)
        self.links.tell_all()

    def _say_view(self, view: View) -> None:
        self.say("view", generation=view.generation, number=view.number, of=view.members)

    def touched(self) -> None:
        """Have a turn end, soon, with a write."""
        if not self._turn_is_due:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        if self.ended.is_set():
            return
        self.clients.commit()
        self._line.put(TurnEnds())

    def _turn_ends(self) -> Work | None:
        answers, self._to_answer = self._to_answer, []
        outbox, self._outbox = self._outbox, []
        deeds, disk = self.bodies.unwritten(), self.disk
        then = partial(self._is_written, outbox, answers)
        if not deeds and not disk.has_more:
            then()
            return None

        def write() -> None:
            disk.append(deeds)
            disk.go_on()

        return Work(write, then)

    def _is_written(self, outbox: list[Outgoing], answers: list[Any]) -> None:
        for one in outbox:
            self.links.send(one)
        for effect in answers:
            self._answer(effect)
        if outbox or answers:
            self._turn()
            return
        self.copies.go_on()
        if self.disk.has_more:
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.touched)

    def _answer(self, effect: Write | WriteView) -> None:
        if isinstance(effect, Write):
            self.do(Written(effect.token))
            return
        if not self.serves:
            return
        if self.manager is not None:
            self.manager.write(effect.view)
        else:
            self.view_written(effect.view)

    def view_written(self, view: View) -> None:
        """Have a view on our own disk, too, which everybody else has whom it concerns."""
        self._line.put(HasView(view))

    def _has_view(self, view: View) -> None:
        self._say_view(view)
        self.do(ViewWritten(view))

    def tick(self) -> None:
        """See what time has brought."""
        self.do(Tick(self.now()))
        if self.manager is not None:
            self.manager.tick()

    # -- the manager -----------------------------------------------------------------------

    async def promote(self) -> dict[str, Any]:
        """Be told to be primary; return the verdict, as `joinproto ask standby.promote` does."""
        if not self.serves:
            await self.links.ask_all()
        if self.manager is not None:
            found = await self.manager.promote()
        else:
            peers = self.links.peers_told()
            found = self.promoted(Promote(peers=peers, now=self.now(), timeout=self.patience))
        await self._line.settled()
        if self.ended.is_set():
            found = ENDS
        return {
            "broker": self.settings.broker,
            "verdict": found.verdict.value,
            "role": self.role.value,
            "generation": self.state.view.generation,
            "rule": found.rule,
            "why": found.why,
        }

    def promoted(self, event: Promote) -> Answer:
        """Let the machine answer to a promotion."""
        answers = [effect for effect in self.do(event) if isinstance(effect, Answer)]
        found = answers[0] if answers else ENDS
        log.info("promotion %s (%s): %s", found.verdict.value, found.rule, found.why)
        self.say("promote", verdict=found.verdict.value, rule=found.rule)
        return found

    def turn(self) -> None:
        """Serve no more, and follow the next primary."""
        self.do(Demote())
        self.links.look()

    async def demote(self) -> dict[str, Any]:
        """Do so once all that clients asked for is done; return what it is then."""
        if self.serves:
            self._turn()
            await self._line.settled()
        self.turn()
        await self._line.settled()
        return {"broker": self.settings.broker, "role": self.role.value}
