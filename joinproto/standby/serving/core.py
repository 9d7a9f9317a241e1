"""A broker that runs: its role, its queues, and what it says to others.  All in one thread.

What is done in one turn of the event loop goes to the disk together, in one fsync; then it is
acknowledged to the primary, or confirmed to clients.  Who may be primary, what is exchanged for
a queue and what replicates is decided by the tables (`promote.py`, `catch_up.py`,
`replicates.py`).

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from secrets import token_hex
from typing import Any

from attrs import define, evolve, field

from joinproto.drivers.addresses import Address
from joinproto.drivers.eventlog import EventLog
from joinproto.errors import JoinprotoError, PeerError
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.keeping.disk import MESSAGE_BYTES_MAX, Disk
from joinproto.standby.keeping.form import Kept
from joinproto.standby.promote import Peer, Promotion, promote
from joinproto.standby.replicates import Level, replicates
from joinproto.standby.serving.amqp import ClientPort, Refusal
from joinproto.standby.serving.backup import BackupSide
from joinproto.standby.serving.contents import Contents
from joinproto.standby.serving.peers import Envelope, Peers
from joinproto.standby.serving.primary import PrimarySide
from joinproto.standby.serving.queues import LiveQueue
from joinproto.standby.serving.settings import Settings
from joinproto.standby.tables import Verdict

log = logging.getLogger("joinproto.standby")

ASK_SECONDS = 1.0
"""How long a promotion waits for the answers of those to whom there is a session."""
AGAIN_SECONDS = 0.001
COUNTS = ("confirmed", "acknowledged", "promotions", "refused_clients")
SERVING = (Role.PRIMARY, Role.RECOVERING)


@define
class Other:
    """What another broker said of itself last."""

    public: Address
    role: Role = Role.CONNECTING
    generation: int = 0
    was_primary: bool = False
    cluster: str | None = None
    answers: int = 0


@define(eq=False)
class Core:
    """One broker.  `mark`: what its disk said of its last end; `failure`: why it ended."""

    settings: Settings
    disk: Disk
    ports: set[ClientPort]
    events: EventLog
    peers: Peers = field(init=False)
    role: Role = Role.CONNECTING
    mark: Mark = Mark.CLEAN
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: JoinprotoError | None = None
    others: dict[str, Other] = field(factory=dict)
    contents: Contents = field(init=False)
    primary: PrimarySide | None = None
    backup: BackupSide | None = None
    counts: dict[str, int] = field(factory=lambda: dict.fromkeys(COUNTS, 0))
    public: Address = field(init=False)
    patience: float = field(init=False)
    _turn_is_due: bool = False
    _answered: asyncio.Event = field(factory=asyncio.Event)

    def __attrs_post_init__(self) -> None:
        """Begin with what the disk has."""
        self.contents = Contents(self.disk)
        self.mark = self.disk.kept.mark
        self.public = self.settings.public
        self.patience = self.settings.timing.backups

    def start(self) -> None:
        """Be a backup that looks for its primary; from now on a crash leaves a dirty store."""
        self.keep(clean=False)
        self.say("started", mark=self.mark.value, generation=self.kept.generation)

    def stop(self) -> None:
        """End in order: what was confirmed is on the disk, and the store is clean."""
        self._turn()
        if self.failure is None and not self.ended.is_set():
            try:
                self.keep(clean=True)
                self.say("stopped")
            except JoinprotoError as error:
                self._fail(error)
        self.ended.set()

    @property
    def kept(self) -> Kept:
        return self.disk.kept

    @property
    def serves(self) -> bool:
        return self.role in SERVING

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    # -- a turn ----------------------------------------------------------------------------

    def touched(self) -> None:
        """Have a turn end with a write, soon."""
        if not self._turn_is_due:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def again(self) -> None:
        """Have another turn, after others had theirs."""
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.touched)

    def _turn(self) -> None:
        self._turn_is_due = False
        if self.ended.is_set():
            return
        try:
            self.contents.write()
            if self.primary is not None:
                self.primary.turn()
            if self.backup is not None:
                self.backup.turn()
        except JoinprotoError as error:
            self._fail(error)

    def tick(self) -> None:
        """See what time has brought."""
        if self.ended.is_set():
            return
        try:
            if self.primary is not None:
                self.primary.tick(self.now(), self.patience)
        except JoinprotoError as error:
            self._fail(error)

    def _fail(self, error: JoinprotoError) -> None:
        # After a failed write nothing is confirmed any more: the process ends.
        log.error("%s", error)
        self.failure = self.failure or error
        self.ended.set()

    def keep(self, **changes: Any) -> None:
        """Have the changed metadata on the disk."""
        changed = evolve(self.kept, **changes)
        if changed != self.kept:
            self.disk.write(changed)

    # -- roles -----------------------------------------------------------------------------

    async def promote(self) -> dict[str, Any]:
        """Be told to be primary; return the verdict, as `joinproto ask standby.promote` does."""
        if not self.serves:
            await self._ask_all()
        kept = self.kept
        peers = tuple(self._peer(name) for name in self.settings.others)
        about = Promotion(
            me=self.settings.broker,
            role=self.role,
            variant=Variant.OURS,
            mark=self.mark,
            generation=kept.generation,
            was_primary=kept.primary,
            dropped=kept.dropped,
            peers=peers,
            expected=self._expected(),
        )
        found = promote(about)
        if found.verdict is Verdict.ACCEPTED:
            assert found.generation is not None
            self._begin(found.generation, found.waits_for)
        self.say(
            "promote",
            verdict=found.verdict.value,
            rule=found.case.label,
            generation=kept.generation,
        )
        log.info("promotion %s (%s): %s", found.verdict.value, found.case.label, found.why)
        return {
            "broker": self.settings.broker,
            "verdict": found.verdict.value,
            "role": self.role.value,
            "generation": self.kept.generation,
            "waits_for": list(found.waits_for),
            "rule": found.case.label,
            "case": found.case.name,
            "why": found.why,
        }

    def _expected(self) -> tuple[str, ...]:
        """Return those that were up to date at the last primary, but that one (H8)."""
        kept = self.kept
        last = None if self.backup is None else self.backup.primary
        return tuple(name for name in kept.view if name not in (kept.broker, last))

    def _begin(self, generation: int, expected: tuple[str, ...]) -> None:
        self.contents.write()
        self.disk.write(
            evolve(
                self.kept,
                cluster=self.kept.cluster or token_hex(16),
                generation=generation,
                primary=True,
                caught_up=True,
                dropped=False,
                clean=False,
                view=expected,
            )
        )
        self.mark = Mark.CLEAN
        self.backup = None
        self.primary = PrimarySide(self, expected)
        self.counts["promotions"] += 1
        self._become(Role.RECOVERING if self.primary.following.waits_for else Role.PRIMARY)
        for name, queue in self.settings.queues.items():
            if name not in self.contents.queues:
                self.primary.declare(name, durable=queue.durable, level=queue.level)
        for name in self.peers.sessions:
            self._tell(name)

    def settled(self) -> None:
        """Be primary: nobody is waited for any more."""
        if self.role is Role.RECOVERING:
            self._become(Role.PRIMARY)

    def demote(self) -> dict[str, Any]:
        """Serve no more, and follow the next primary."""
        if self.serves:
            self._turn()
            self.step_down("told to by its manager")
        return {"broker": self.settings.broker, "role": self.role.value}

    def step_down(self, why: str) -> None:
        """Be a backup that looks for a primary; what is not confirmed never will be."""
        log.warning("steps down: %s", why)
        if self.primary is not None:
            self.primary.close()
        self.primary = None
        # It was primary: what it confirmed it has, and the view says who else has it.
        self._become(Role.CONNECTING)
        refusal = self.refusal()
        assert refusal is not None
        for port in list(self.ports):
            port.refuse(refusal)
        for name in self.peers.sessions:
            self._tell(name)
        self._look_for_primary()

    def become(self, role: Role) -> None:
        """Have another role, and tell the others."""
        if role is not self.role:
            self._become(role)
            for name in self.peers.sessions:
                self._tell(name)

    def _become(self, role: Role) -> None:
        log.info("%s -> %s, generation %d", self.role.value, role.value, self.kept.generation)
        self.say("role", was=self.role.value, role=role.value, generation=self.kept.generation)
        self.role = role

    def _look_for_primary(self) -> None:
        """Follow a primary that is as young as this broker, if one is there."""
        if self.serves or self.backup is not None:
            return
        there = [
            (other.generation, name)
            for name, other in self.others.items()
            if other.role in SERVING and name in self.peers.sessions and self._is_ours(other)
        ]
        fits = [one for one in there if one[0] >= self.kept.generation]
        if fits:
            _, name = max(fits)
            self.backup = BackupSide(self, name)

    # -- other brokers ---------------------------------------------------------------------

    def met(self, name: str, public: Address) -> None:
        """There is a session with another broker."""
        self.others[name] = Other(public)
        self._tell(name)

    def parted(self, name: str) -> None:
        """The session is gone."""
        self.others.pop(name, None)
        if self.primary is not None:
            self.primary.parted(name)
        if self.backup is not None and self.backup.primary == name:
            self.backup.parted()
            self.backup = None
            self._look_for_primary()
        self._answered.set()

    def heard(self, name: str, envelope: Envelope) -> None:
        """Another broker says something."""
        try:
            self._heard(name, envelope)
        except PeerError as error:
            log.error("%s", error)
            self.peers.end(name)
        except JoinprotoError as error:
            self._fail(error)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            log.error("%s sent a %s that is not one: %r", name, envelope.kind, error)
            self.peers.end(name)

    def _heard(self, name: str, envelope: Envelope) -> None:
        match envelope.kind:
            case "state":
                self._learned(name, envelope)
            case "ask":
                self._tell(name, answers=True)
            case "follow" | "has" | "followed" | "ack":
                if self.primary is not None:
                    self.primary.heard(name, envelope)
            case _:
                if self.backup is not None and self.backup.primary == name:
                    self.backup.heard(envelope)

    def _learned(self, name: str, envelope: Envelope) -> None:
        other, facts = self.others[name], envelope.facts
        other.role, other.generation = Role(facts["role"]), int(facts["generation"])
        other.was_primary, other.cluster = bool(facts["was_primary"]), facts["cluster"]
        other.public = Address.parse(facts["public"])
        other.answers += bool(facts["answers"])
        self._answered.set()
        if not self._is_ours(other):
            log.error("%s has a store of another cluster: %s", name, other.cluster)
            return
        is_primary = other.role in SERVING
        if self.serves and is_primary:
            self._met_primary(name, other)
        elif self.backup is not None:
            is_younger = is_primary and other.generation > self.kept.generation
            # What the followed one serves in, it says by itself.
            if is_younger if self.backup.primary != name else not is_primary:
                self.backup.parted()
                self.backup = None
        self._look_for_primary()

    def _met_primary(self, name: str, other: Other) -> None:
        """H2: two serve, for nothing fenced one of them."""
        if other.generation > self.kept.generation:
            self.step_down(f"{name} is primary in generation {other.generation}")
        elif other.generation == self.kept.generation:
            # Each may have confirmed what the other one lacks: nobody but an operator knows
            # which of it may go.
            self.mark = Mark.DIRTY
            self.step_down(f"{name} is primary in generation {other.generation}, too")

    def _is_ours(self, other: Other) -> bool:
        """Return whether it is of this cluster, or of none yet."""
        return None in (other.cluster, self.kept.cluster) or other.cluster == self.kept.cluster

    def _tell(self, name: str, *, answers: bool = False) -> None:
        kept = self.kept
        facts = {
            "role": self.role.value,
            "generation": kept.generation,
            "was_primary": kept.primary,
            "cluster": kept.cluster,
            "public": str(self.public),
            "answers": answers,
        }
        self.peers.send(name, "state", facts)

    async def _ask_all(self) -> None:
        """Return when all to whom there is a session have answered, or do not."""
        asked = {name: self.others[name].answers for name in self.peers.sessions}
        for name in asked:
            self.peers.send(name, "ask", {})
        end = self.now() + ASK_SECONDS
        while self.now() < end and any(
            name in self.others and self.others[name].answers == count
            for name, count in asked.items()
        ):
            self._answered.clear()
            try:
                await asyncio.wait_for(self._answered.wait(), end - self.now())
            except TimeoutError:
                return

    def _peer(self, name: str) -> Peer:
        other = self.others.get(name)
        if other is None or name not in self.peers.sessions or not self._is_ours(other):
            return Peer(name=name, role=None)
        return Peer(
            name=name,
            role=other.role,
            generation=other.generation,
            was_primary=other.was_primary,
        )

    # -- clients (`Service`) ---------------------------------------------------------------

    @property
    def message_bytes_max(self) -> int:
        return MESSAGE_BYTES_MAX

    def refusal(self) -> Refusal | None:
        """Return why ordinary clients are refused, None: they are not (H11)."""
        if self.serves:
            return None
        self.counts["refused_clients"] += 1
        found = [other.public for other in self.others.values() if other.role in SERVING]
        word = self.settings.broker
        return Refusal(
            f"{word} is not the primary ({self.role.value})", found[0] if found else None
        )

    def queue(self, name: str, done: Callable[[LiveQueue | str], None]) -> None:
        """Give this queue, when all backups that count have its declaration (LC2)."""
        assert self.primary is not None
        if name in self.contents.queues:
            done(self.primary.live[name])
            return
        if not self.settings.creates:
            done(f"there is no queue {name!r}, and `defaults.create` is false")
            return
        live = self.primary.declare(name, durable=self.settings.creates_durable)
        self.primary.following.add(lambda: done(live))

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        """Put a message at the back of a queue; confirmed as H4 says."""
        if self.primary is None or queue not in self.primary.live:
            done(f"there is no queue {queue!r} here")
            return
        self.primary.publish(queue, body, durable, done)

    def take(self, queue: str, name: str, done: Callable[[], None]) -> None:
        """Remove a message; confirmed when the backups know (LM4)."""
        if self.primary is not None:
            self.primary.take(queue, name, done)

    def decide_level(self, name: str, *, durable: bool, level: Level | None) -> Level:
        """Return what of a new queue replicates (H7)."""
        said = self.settings.queues.get(name)
        wanted = level if level is not None else (said.level if said is not None else None)
        found = replicates(Variant.OURS, self.settings.default, queue=wanted, durable_queue=durable)
        return found.level

    def say(self, kind: str, **facts: object) -> None:
        """Write a line of the event log."""
        self.events.write(kind, broker=self.settings.broker, **facts)
