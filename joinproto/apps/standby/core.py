"""The host of a broker: it tells the machine what happens, and does what that one says.

What clients do in one turn of the event loop is one commit of the machine, what is to be kept goes
to the disk in one fsync, and a backup answers once.  So the dearest things are paid for once for
many messages.  Nothing is decided here: see `joinproto/standby/machine.py`.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from joinproto.apps.standby.bodies import Bodies
from joinproto.apps.standby.clients import Clients
from joinproto.apps.standby.copying import Pace
from joinproto.apps.standby.keeping.disk import Disk
from joinproto.apps.standby.keeping.form import Kept
from joinproto.apps.standby.links import Links
from joinproto.apps.standby.settings import Settings
from joinproto.errors import JoinprotoError
from joinproto.host.eventlog import EventLog
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.catch_up import Order
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
from joinproto.standby.leading import Keeper, Leading, Who
from joinproto.standby.line import Line
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import View
from joinproto.standby.tables import Verdict

if TYPE_CHECKING:
    from joinproto.apps.standby.managing import Manager

log = logging.getLogger("joinproto.standby")

AGAIN_SECONDS = 0.001
UNSENT_BYTES_MAX = 1 << 20
"""No more is copied while a connection has so much to send."""
COPY_AT_ONCE = 100
GOOD = (Role.BACKUP, Role.RECOVERING, Role.PRIMARY)


@define(eq=False)
class Core:
    """One broker.  `manager`: the one built in; None: it is outside.  `failure`: why it ended."""

    settings: Settings
    disk: Disk
    events: EventLog
    links: Links = field(init=False)
    state: Broker = field(init=False)
    bodies: Bodies = field(init=False)
    clients: Clients = field(init=False)
    manager: Manager | None = field(init=False, default=None)
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: JoinprotoError | None = None
    patience: float = field(init=False)
    _to_answer: list[Any] = field(factory=list)  # Write and WriteView, once on the disk
    # With the link of each, behind what is not on the disk yet.
    _outbox: list[tuple[str, Send]] = field(factory=list)
    _copies: int = 0
    _paces: dict[str, Pace] = field(factory=dict)
    _turn_is_due: bool = False
    _was_clean: bool = False  # its store, when it started; and it has done nothing since

    def __attrs_post_init__(self) -> None:
        """Do not run yet."""
        who = Who(
            me=self.settings.broker,
            variant=Variant.OURS,
            keeper=Keeper.BUILT_IN if self.settings.chain else Keeper.OUTSIDE,
            default=self.settings.default,
            order=self.settings.copying.order,
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
        self._was_clean = kept.clean

    def leave_as_found(self) -> None:
        """Leave the store clean if it was, where this broker has been nothing but started."""
        if self._was_clean and self.failure is None:
            with suppress(JoinprotoError):
                self.keep(clean=True)

    def stop(self) -> None:
        """End in order: what was confirmed is on the disk, and the store is clean."""
        self._turn()
        if self.failure is None and not self.ended.is_set():
            try:
                # Neither a crash nor half a copy is undone by an orderly end: only who caught up
                # since is clean again.
                is_whole = self.state.standing is not Role.CATCHUP
                self.keep(clean=self.state.mark is not Mark.DIRTY and is_whole)
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
            self._was_clean = False
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
                link = self.links.link_of(effect)
                if self.bodies.has_unwritten or self._outbox:
                    self._outbox.append((link, effect))
                    self.touched()
                else:
                    self.links.send(effect, link)
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
                self._outbox.clear()
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
                for link, waiting in outbox:
                    self.links.send(waiting, link)
                if not answers and not outbox:
                    break
                for effect in answers:
                    self._answer(effect)
            self._copy()
            if self.disk.go_on():
                asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.touched)
        except JoinprotoError as error:
            self._fail(error)

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
        if not self.serves:
            return
        try:
            self.keep(view=view)
        except JoinprotoError as error:
            self._fail(error)
            return
        self.say("view", generation=view.generation, number=view.number, of=view.members)
        self.do(ViewWritten(view))

    def _copy(self) -> None:
        """Copy more of what was there before, as far as connections take it (H5)."""
        side = self.state.side
        if not isinstance(side, Leading):
            return
        self._copies += 1
        for name, follower in side.followers.items():
            queues = list(follower.copying)
            first = self._copies % len(queues) if queues else 0
            # Each turn begins with another one: the first may take all that may be copied.
            for queue in (*queues[first:], *queues[:first]):
                if self.links.unsent(name) >= UNSENT_BYTES_MAX:
                    break
                most = self._fitting(queue, follower.copying[queue])
                pace = self._paces.setdefault(name, Pace(self.settings.copying.per_second))
                if count := pace.take(self.now(), most):
                    self.do(More(name, queue, count))
        side = self.state.side
        if isinstance(side, Leading) and any(one.copying for one in side.followers.values()):
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.touched)

    def _fitting(self, queue: str, left: Line) -> int:
        """Return how many of the messages that are copied next go at once."""
        is_lifo = self.state.who.order is Order.LIFO
        size = 0
        for count, message in enumerate(left.split(COPY_AT_ONCE, back=is_lifo)[1], start=1):
            size += self.bodies.size(queue, message.id)
            if size >= UNSENT_BYTES_MAX:
                return count
        return COPY_AT_ONCE

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
        found = answers[0] if answers else Answer(Verdict.REFUSED, "H1", "this broker ends")
        log.info("promotion %s (%s): %s", found.verdict.value, found.rule, found.why)
        self.say("promote", verdict=found.verdict.value, rule=found.rule)
        return found

    def demote(self) -> dict[str, Any]:
        """Serve no more, and follow the next primary."""
        if self.serves:
            self._turn()
        self.do(Demote())
        self.links.look()
        return {"broker": self.settings.broker, "role": self.role.value}
