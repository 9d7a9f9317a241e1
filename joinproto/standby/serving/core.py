"""The host of a broker: it tells the machine what happens, and does what that one says.

What clients do in one turn of the event loop is one commit of the machine, what is to be kept goes
to the disk in one fsync, and a backup answers once.  So the dearest things are paid for once for
many messages.  Nothing is decided here: see `joinproto/standby/machine.py`.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from attrs import define, evolve, field

from joinproto.drivers.eventlog import EventLog
from joinproto.errors import JoinprotoError
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.events import (
    Answer,
    Confirm,
    Demote,
    Keep,
    KeepView,
    Leave,
    Make,
    More,
    Promote,
    Remove,
    Send,
    Serve,
    Start,
    Tick,
    Turn,
    ViewWritten,
    Write,
    WriteView,
    Written,
)
from joinproto.standby.keeping.disk import Disk
from joinproto.standby.keeping.form import Kept
from joinproto.standby.leading import Keeper, Leading, Who
from joinproto.standby.machine import Broker, step
from joinproto.standby.serving.bodies import Bodies
from joinproto.standby.serving.clients import Clients
from joinproto.standby.serving.links import Links
from joinproto.standby.serving.settings import Settings
from joinproto.standby.tables import Verdict

log = logging.getLogger("joinproto.standby")

AGAIN_SECONDS = 0.001
UNSENT_BYTES_MAX = 1 << 20
"""No more is copied while a connection has so much to send."""
COPY_AT_ONCE = 100
GOOD = (Role.BACKUP, Role.RECOVERING, Role.PRIMARY)


@define(eq=False)
class Core:
    """One broker.  `failure`: why it ended."""

    settings: Settings
    disk: Disk
    events: EventLog
    links: Links = field(init=False)
    state: Broker = field(init=False)
    bodies: Bodies = field(init=False)
    clients: Clients = field(init=False)
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: JoinprotoError | None = None
    patience: float = field(init=False)
    _to_answer: list[Any] = field(factory=list)  # Write and WriteView, once on the disk
    _outbox: list[Send] = field(factory=list)  # behind what is not on the disk yet
    _turn_is_due: bool = False

    def __attrs_post_init__(self) -> None:
        """Do not run yet."""
        who = Who(
            me=self.settings.broker,
            variant=Variant.OURS,
            keeper=Keeper.OUTSIDE,
            default=self.settings.default,
        )
        self.state = Broker(who=who)
        self.bodies = Bodies(self.disk)
        self.patience = self.settings.timing.backups
        self.links = Links(self)
        self.clients = Clients(self, set())

    def start(self) -> None:
        """Be a backup that looks for its primary; from now on a crash leaves a dirty store."""
        kept = self.kept
        self.do(Start(mark=kept.mark, view=kept.view, stock=self.bodies.stock))
        self.say("started", mark=kept.mark.value, generation=kept.view.generation)
        self.keep(clean=False)

    def stop(self) -> None:
        """End in order: what was confirmed is on the disk, and the store is clean."""
        self._turn()
        if self.failure is None and not self.ended.is_set():
            try:
                # A crash is not undone by an orderly end: only who caught up since is clean again.
                self.keep(clean=self.state.mark is not Mark.DIRTY)
                self.say("stopped")
            except JoinprotoError as error:
                self._fail(error)
        self.ended.set()

    @property
    def kept(self) -> Kept:
        return self.disk.kept

    @property
    def role(self) -> Role:
        return self.state.role

    @property
    def serves(self) -> bool:
        return self.state.serves

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def say(self, kind: str, **facts: object) -> None:
        """Write a line of the event log."""
        self.events.write(kind, broker=self.settings.broker, **facts)

    def keep(self, **changes: Any) -> None:
        """Have the changed metadata on the disk."""
        changed = evolve(self.kept, **changes)
        if changed != self.kept:
            self.disk.write(changed)

    def _fail(self, error: JoinprotoError) -> None:
        # After a failed write nothing is confirmed any more: the process ends.
        log.error("%s", error)
        self.failure = self.failure or error
        self.ended.set()

    # -- the machine -----------------------------------------------------------------------

    def do(self, event: Any) -> list[Any]:
        """Let the machine take an event, and do what it says; return its effects."""
        if self.ended.is_set():
            return []
        before = self.role
        try:
            found = step(self.state, event)
            self.state = found.state
            for effect in found.effects:
                self._effect(effect)
        except JoinprotoError as error:
            self._fail(error)
            return []
        if self.role is not before:
            if self.role in GOOD:
                # Its store is good again, whatever its last end was.
                self.state = evolve(self.state, mark=Mark.CLEAN)
            generation = self.state.view.generation
            log.info("%s -> %s, generation %d", before.value, self.role.value, generation)
            self.say("role", was=before.value, role=self.role.value, generation=generation)
            self.links.tell_all()
        return list(found.effects)

    def _effect(self, effect: Any) -> None:
        match effect:
            case Send():
                if self.bodies.has_unwritten:
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
            case KeepView(view):
                self.bodies.write()
                self.keep(view=view, cluster=self.links.cluster_of(view))
                self.say("view", generation=view.generation, number=view.number, of=view.members)
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
                self.links.forget()
            case Leave(broker, why):
                log.warning("no link with %s: %s", broker, why)
                self.links.leave(broker)

    def touched(self) -> None:
        """Have a turn end, soon, with a write."""
        if not self._turn_is_due:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        try:
            while not self.ended.is_set():
                self.clients.commit()
                answers, self._to_answer = self._to_answer, []
                self.bodies.write()
                outbox, self._outbox = self._outbox, []
                for effect in outbox:
                    self.links.send(effect)
                if not answers and not outbox:
                    break
                for effect in answers:
                    self._answer(effect)
            self._copy()
        except JoinprotoError as error:
            self._fail(error)

    def _answer(self, effect: Write | WriteView) -> None:
        if isinstance(effect, Write):
            self.do(Written(effect.token))
            return
        if not self.serves:
            return
        view = effect.view
        self.keep(view=view)
        self.say("view", generation=view.generation, number=view.number, of=view.members)
        self.do(ViewWritten(view))

    def _copy(self) -> None:
        """Copy more of what was there before, as far as connections take it (H5)."""
        side = self.state.side
        if not isinstance(side, Leading):
            return
        for name, follower in side.followers.items():
            for queue in follower.copying:
                if self.links.unsent(name) < UNSENT_BYTES_MAX:
                    self.do(More(name, queue, COPY_AT_ONCE))
        side = self.state.side
        if isinstance(side, Leading) and any(one.copying for one in side.followers.values()):
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.touched)

    def tick(self) -> None:
        """See what time has brought."""
        self.do(Tick(self.now()))

    # -- the manager -----------------------------------------------------------------------

    async def promote(self) -> dict[str, Any]:
        """Be told to be primary; return the verdict, as `joinproto ask standby.promote` does."""
        if not self.serves:
            await self.links.ask_all()
        found = Answer(Verdict.REFUSED, "H1", "this broker ends")
        event = Promote(peers=self.links.peers_told(), now=self.now(), timeout=self.patience)
        for effect in self.do(event):
            if isinstance(effect, Answer):
                found = effect
        log.info("promotion %s (%s): %s", found.verdict.value, found.rule, found.why)
        self.say("promote", verdict=found.verdict.value, rule=found.rule)
        return {
            "broker": self.settings.broker,
            "verdict": found.verdict.value,
            "role": self.role.value,
            "generation": self.state.view.generation,
            "rule": found.rule,
            "why": found.why,
        }

    def demote(self) -> dict[str, Any]:
        """Serve no more, and follow the next primary."""
        if self.serves:
            self._turn()
        self.do(Demote())
        self.links.look()
        return {"broker": self.settings.broker, "role": self.role.value}
