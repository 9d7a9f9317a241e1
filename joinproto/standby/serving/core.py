"""The host of a broker: it tells the machine what happens, and does what that one says.

What clients do in one turn of the event loop is one commit of the machine, what is to be kept goes
to the disk in one fsync, and a backup answers once.  So the dearest things are paid for once for
many messages.  Nothing is decided here: see `joinproto/standby/machine.py`.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from secrets import token_hex
from typing import Any

from attrs import define, evolve, field

from joinproto.drivers.eventlog import EventLog
from joinproto.errors import JoinprotoError
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.clients import Entrance, admit
from joinproto.standby.events import (
    Answer,
    Commit,
    Confirm,
    Declare,
    Demote,
    Draft,
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
from joinproto.standby.keeping.disk import MESSAGE_BYTES_MAX, Disk
from joinproto.standby.keeping.form import Kept
from joinproto.standby.leading import Keeper, Leading, Who
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import Kind, Thing
from joinproto.standby.serving.amqp import ClientPort, Refusal
from joinproto.standby.serving.bodies import Bodies
from joinproto.standby.serving.gathering import Gathered
from joinproto.standby.serving.links import Links
from joinproto.standby.serving.queues import Held, LiveQueue
from joinproto.standby.serving.settings import Settings
from joinproto.standby.tables import Verdict

log = logging.getLogger("joinproto.standby")

AGAIN_SECONDS = 0.001
UNSENT_BYTES_MAX = 1 << 20
"""No more is copied while a connection has so much to send."""
COPY_AT_ONCE = 100
GOOD = (Role.BACKUP, Role.RECOVERING, Role.PRIMARY)
COUNTS = ("confirmed", "acknowledged", "promotions", "refused_clients")


@define(eq=False)
class Core:
    """One broker.  `failure`: why it ended."""

    settings: Settings
    disk: Disk
    ports: set[ClientPort]
    events: EventLog
    links: Links = field(init=False)
    state: Broker = field(init=False)
    bodies: Bodies = field(init=False)
    live: dict[str, LiveQueue] = field(factory=dict)
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: JoinprotoError | None = None
    counts: dict[str, int] = field(factory=lambda: dict.fromkeys(COUNTS, 0))
    patience: float = field(init=False)
    _gathered: Gathered = field(factory=Gathered)
    _waiting: dict[int, list[Callable[[], None]]] = field(factory=dict)
    _to_answer: list[Any] = field(factory=list)  # Write and WriteView, once on the disk
    _outbox: list[Send] = field(factory=list)  # behind what is not on the disk yet
    _token: int = 0
    _made: int = 0
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
                if thing.name in self.live:
                    self.live.pop(thing.name).is_gone = True
                self.touched()
            case Confirm(token):
                for done in self._waiting.pop(token, ()):
                    done()
            case Serve(generation):
                self._serve(generation)
            case Turn(why):
                self._close(why)
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
                self._commit()
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

    def _serve(self, generation: int) -> None:
        """Open for clients; somebody may have had each message before."""
        self.counts["promotions"] += 1
        log.info("serves in generation %d", generation)
        for name, queue in self.bodies.queues.items():
            live = self.live[name] = LiveQueue(name)
            for put in queue.in_order:
                durable = self.bodies.is_kept(name, put.id)
                live.offer(Held(put.id, put.position, put.body, durable, is_redelivered=True))
        asyncio.get_running_loop().call_soon(self._declare_configured)

    def _declare_configured(self) -> None:
        for name in self.settings.queues:
            if self.serves and name not in self.live:
                self.queue(name, lambda _: None)

    def _close(self, why: str) -> None:
        """Close for clients; what is not confirmed never will be."""
        log.warning("serves no more: %s", why)
        self._waiting.clear()
        self._gathered = Gathered()
        self._to_answer.clear()
        for live in self.live.values():
            live.is_gone = True
        self.live.clear()
        asyncio.get_running_loop().call_soon(self._refuse_all)
        self.links.forget()

    def _refuse_all(self) -> None:
        for port in list(self.ports):
            refusal = self.refusal(is_admin=port.is_admin)
            if refusal is not None:
                port.refuse(refusal)

    # -- clients (`Service`) ---------------------------------------------------------------

    @property
    def message_bytes_max(self) -> int:
        return MESSAGE_BYTES_MAX

    def refusal(self, *, is_admin: bool = False) -> Refusal | None:
        """Return why a client may not enter, None: it may (H11)."""
        primary = self.links.primary_address
        said = None if primary is None else str(primary)
        found = admit(Variant.OURS, self.role, primary=said, is_admin=is_admin)
        if found.entrance is Entrance.ADMITTED:
            return None
        self.counts["refused_clients"] += 1
        return Refusal(found.why, None if found.primary is None else primary)

    def queue(self, name: str, done: Callable[[LiveQueue | str], None]) -> None:
        """Give this queue, when all backups that count have its declaration (LC2)."""
        if name in self.live:
            done(self.live[name])
            return
        said = self.settings.queues.get(name)
        if said is None and not self.settings.creates:
            done(f"there is no queue {name!r}, and `defaults.create` is false")
            return
        thing = Thing(
            kind=Kind.QUEUE,
            name=name,
            id=token_hex(8),
            says=None if said is None else said.level,
            durable=self.settings.creates_durable if said is None else said.durable,
        )
        live = self.live[name] = LiveQueue(name)
        self._token += 1
        self._waiting[self._token] = [lambda: done(live)]
        self.do(Declare(self._token, thing))

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        """Put a message at the back of a queue; confirmed as H4 says."""
        if not self.serves or queue not in self.live:
            done(f"there is no queue {queue!r} here")
            return
        self._made += 1
        name = f"{self.state.view.generation}.{self.settings.broker}.{self._made}"
        self._gathered.put(queue, name, body, durable, done)
        self.touched()

    def take(self, queue: str, held: Held, done: Callable[[], None]) -> None:
        """Remove a message; confirmed when the backups know (LM4)."""
        if self.serves and queue in self.live:
            self._gathered.take(queue, held, done)
            self.touched()

    def _commit(self) -> None:
        """Have what clients did in this turn be one commit."""
        if not self._gathered.work:
            return
        gathered, self._gathered = self._gathered, Gathered()
        drafts: list[Draft] = []
        waiting: list[Callable[[], None]] = []
        for queue, work in gathered.work.items():
            if queue not in self.state.stock.queues or queue not in self.live:
                continue
            coming = self.state.stock.queues[queue].next
            helds = [
                Held(one.id, coming + at, one.body, one.durable) for at, one in enumerate(work.puts)
            ]
            for held in helds:
                self.bodies.hold(queue, held)
            drafts.append(work.draft(queue))
            waiting.append(self._done(self.live[queue], helds, [one.done for one in work.puts]))
            waiting.append(self._taken([done for _, done in work.takes]))
        self._token += 1
        self._waiting[self._token] = waiting
        self.do(Commit(self._token, tuple(drafts)))
        for draft in drafts:
            for message in draft.takes:
                self.bodies.forget(draft.queue, message)

    def _done(
        self, live: LiveQueue, helds: list[Held], dones: list[Callable[[str], None]]
    ) -> Callable[[], None]:
        def confirmed() -> None:
            self.counts["confirmed"] += len(helds)
            for held, done in zip(helds, dones, strict=True):
                done("")
                live.offer(held)

        return confirmed

    def _taken(self, dones: list[Callable[[], None]]) -> Callable[[], None]:
        def confirmed() -> None:
            self.counts["acknowledged"] += len(dones)
            for done in dones:
                done()

        return confirmed
