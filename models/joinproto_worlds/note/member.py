"""The members of the note and of Qpid as members of a world, each with its disk.

This module makes no decisions: each event goes to the code in `joinproto.reference`, and the
effects are translated into events of the world.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Maybe, Persist, Record, Rule
from joinproto.machine.vocabulary import Phase, Signature, Status, Store
from joinproto.reference import effects
from joinproto.reference.effects import DiskRecord
from joinproto.reference.events import Agreed, MarkClean, OrderlyShutdown, Start, UpdateDone
from joinproto.reference.note.member import NoteMember
from joinproto.reference.note.readings import Readings
from joinproto.reference.qpid.member import QpidMember
from joinproto.reference.tabled import Identity, TabledMember
from joinproto_worlds.mutations.named import mutated

ENDED = (Phase.STOPPED, Phase.ABORTED)


@frozen
class Founded:
    """Recorded: a member without an initial signature agreed on a set, and has now `signature`."""

    signature: Signature | None


@frozen
class Acknowledged:
    """Recorded: a client was told that the cluster with this initial signature keeps `frame`."""

    initial: Signature | None
    frame: Hashable

    def __str__(self) -> str:
        return f"{self.frame} by {self.initial}"


@frozen
class Renamed:
    """Recorded: a store that had an initial signature got another (against S1)."""

    member: str


@frozen
class ShutDown:
    """Recorded: a member took part in an orderly shutdown."""


@frozen
class Restarted:
    """Recorded: a member starts with a dirty store, which a crash has left."""


@frozen
class Ready:
    """Recorded: `member` has the cluster's data.  `own`: from its own store, not by an update."""

    member: str
    own: bool
    initial: Signature | None
    data: tuple[Hashable, ...]


@frozen
class BrokerView:
    """The observation of a running member.  `sources`: members that may update it."""

    phase: Phase
    status: Status
    data: tuple[Hashable, ...]
    sources: tuple[str, ...] = ()

    @property
    def serves(self) -> bool:
        return self.phase is Phase.ACTIVE

    @property
    def runs(self) -> bool:
        """Return whether the process runs; that of a stopped or aborted member has ended."""
        return self.phase not in ENDED


@define
class Broker:
    """One process with its store.  `held`: the record in its memory; `disk`: the durable record.

    `readings`: how the note's rules are read; None means Qpid's rules.  `mutant`: the name of a
    mutation.  `sources`: the members that may update it.
    """

    persistent: ClassVar[tuple[str, ...]] = ("disk",)

    me: Identity
    readings: Readings | None
    disk: DiskRecord
    held: DiskRecord
    phase: Phase = Phase.STOPPED
    sources: tuple[str, ...] = ()
    mutant: str | None = None

    def choices(self) -> Iterator[Any]:
        if self.phase is Phase.STOPPED:
            yield "start again"
        elif self.phase is Phase.ABORTED:
            yield Maybe("start again")

    @mutated
    def start(self) -> Iterator[Any]:
        self.held = self.disk
        self.phase = Phase.STOPPED
        self.sources = ()
        if self.disk.store is Store.DIRTY:
            yield Record(Restarted())
        yield from self._react(Start(f"own of {self.me.id}"))

    @mutated
    def receive(self, event: Any) -> Any:
        if event == "start again":
            return self.start()
        if not self._core().can(event):
            return NOT_ENABLED
        if isinstance(event, UpdateDone) and event.source not in self.sources:
            return NOT_ENABLED
        return self._react(event)

    @mutated
    def offline(self, event: MarkClean) -> Any:
        """Mark the store of a stopped process clean, as the operator's tool does."""
        self.held = self.disk
        self.phase = Phase.STOPPED
        before = self.disk
        reaction = list(self._react(event))
        return NOT_ENABLED if self.disk == before else reaction

    def story(self) -> dict[str, Any]:
        lines: dict[str, Any] = {"phase": self.phase}
        if self.held != self.disk:
            lines["in memory"] = self.held
        if self.sources:
            lines["update from"] = " or ".join(self.sources)
        return lines

    @mutated
    def shows(self) -> BrokerView:
        return BrokerView(self.phase, self._core().status, self.held.data, self.sources)

    def _core(self) -> TabledMember:
        member: TabledMember = (
            QpidMember(self.me, self.held)
            if self.readings is None
            else NoteMember(self.me, self.held, self.readings)
        )
        member.phase = self.phase
        return member

    def _react(self, event: Any) -> Iterator[Any]:
        member = self._core()
        before = self.held.initial
        waited = self.phase is Phase.INITIALIZING
        self.sources = ()
        for effect in member.react(event):
            # The first effect comes after the table was read, so the phase is already the next one.
            self.phase = member.phase
            self.held = DiskRecord(member.store, member.initial, member.final, member.data)
            match effect:
                case effects.CaseTaken():
                    yield Rule(f"{effect.table}: {effect.label} {effect.case}")
                case effects.Persist():
                    self.disk = effect.kept
                    yield Persist()
                    if before is not None and member.initial != before:
                        yield Record(Renamed(self.me.id))
                    elif before is None and isinstance(event, Agreed):
                        yield Record(Founded(member.initial))
                    before = member.initial
                case effects.AskForUpdate():
                    self.sources = effect.sources
                case effects.Acknowledge():
                    yield Record(Acknowledged(member.initial, effect.frame))
        if isinstance(event, OrderlyShutdown):
            yield Record(ShutDown())
        own = waited and self.phase in (Phase.READY, Phase.ACTIVE)
        if own or isinstance(event, UpdateDone):
            yield Record(Ready(self.me.id, own, self.held.initial, self.held.data))


@define
class Ledger:
    """The monitor: frames promised to clients, and how members got ready without such a frame."""

    written: int = 0
    founded: int = 0
    acknowledged: frozenset[Acknowledged] = frozenset()
    renamed: frozenset[str] = frozenset()
    crashed: bool = False
    shutdowns: int = 0  # 0 or 1
    stale: frozenset[str] = frozenset()  # "own store", "update": members got ready by these

    def receive(self, event: Any) -> None:
        match event:
            case Founded():
                self.founded += 1
            case Acknowledged(_, int(frame)):
                self.written = max(self.written, frame)
                self.acknowledged |= {event}
            case Restarted():
                self.crashed = True
            case ShutDown():
                self.shutdowns = 1
            case Renamed(member):
                self.renamed |= {member}
            case Ready(_, own, initial, data):
                promised = {p.frame for p in self.acknowledged if p.initial == initial}
                if not promised <= set(data):
                    self.stale |= {"own store" if own else "update"}

    def story(self) -> dict[str, Any]:
        clusters = sorted({str(promise.initial) for promise in self.acknowledged})
        found: dict[str, Any] = {
            f"promised by {cluster}": " ".join(
                str(promise.frame)
                for promise in sorted(self.acknowledged, key=lambda item: str(item.frame))
                if str(promise.initial) == cluster
            )
            for cluster in clusters
        }
        if self.renamed:
            found["renamed"] = self.renamed
        if self.stale:
            found["ready without a promised frame"] = "from its " + " and ".join(sorted(self.stale))
        return found
