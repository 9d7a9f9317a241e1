"""A small cluster of real members: their disks are values; members and the network may fail.

The members decide everything.  The host performs the actions of `Member.poll`.  A frame and the
position are written in one step.  A frame is acknowledged when every member of its view has it,
which the ledger counts.

    life = Life("abc", wait_for=2)
    life.start("a"), ...; life.settle()      the members found the cluster
    life.write(); life.kill("a"); life.settle()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import Factory, define, evolve, field, frozen

from joinproto.join.config import Config
from joinproto.join.frames import FrameVerdict
from joinproto.join.ids import ViewId
from joinproto.join.member import Member
from joinproto.join.messages import (
    Action,
    Closing,
    Event,
    JoinMessage,
    Sent,
    ServeUpdate,
    Stop,
    Waiting,
)
from joinproto.join.perform import perform
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position

ROUNDS_IDLE = 4
"""Rounds without progress, after which no progress is expected: each member has backed off once."""

FrameId = tuple[ViewId, int]


@define
class Envelope:
    """A message on its way: a message of the protocol, a frame, or a source's whole data."""

    sender: str
    to: str
    content: object


@define
class FrameSent:
    view: ViewId
    seq: int


@define
class DataSent:
    view: ViewId
    position: Position | None
    frames: tuple[FrameId, ...]


@define
class Life:
    """The world: `disks` and `frames` survive everything, `members` live until they are killed.

    `electors`: members that may vote; "": all.

    `acknowledged`: frames that every member of their view had durably, in the order of their
    acknowledgement.
    """

    names: str
    wait_for: int = 2
    electors: str = ""
    now: float = 0.0
    disks: dict[str, StoreRecord] = Factory(dict)
    frames: dict[str, tuple[FrameId, ...]] = Factory(dict)
    members: dict[str, Member] = Factory(dict)
    envelopes: list[Envelope] = Factory(list)
    split: tuple[frozenset[str], ...] = ()
    acknowledged: list[FrameId] = Factory(list)
    lives: int = 0
    waiting: list[Waiting] = Factory(list)
    on_write: Callable[[str, StoreRecord], None] = field(default=lambda _name, _record: None)

    def __attrs_post_init__(self) -> None:
        for name in self.names:
            self.disks[name] = StoreRecord(store_id=f"{name}'")
            self.frames[name] = ()

    # -- possible events ------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a member from its disk, if it does not run."""
        if name in self.members:
            return
        self.lives += 1
        config = Config(
            member=name,
            electors=frozenset(self.electors or self.names),
            wait_for=self.wait_for,
            options="o",
            heartbeat=0.0,
        )
        peers = frozenset(other for other in self.members if self.reaches(name, other))
        member = Member.start(
            self.now,
            config,
            self.disks[name],
            seed=f"{name}{self.lives}",
            in_reach=peers,
        )
        self.members[name] = member
        self.perform(name)
        for other in sorted(peers):
            self.members[other].peer_up(self.now, name)
            self.perform(other)
            if name in self.members:
                self.members[name].peer_up(self.now, other)
                self.perform(name)

    def kill(self, name: str) -> None:
        """End a member's process; the members that it reached notice this at once."""
        if self.members.pop(name, None) is None:
            return
        self.envelopes = [one for one in self.envelopes if name not in (one.sender, one.to)]
        for other in sorted(self.members):
            if self.reaches(name, other):
                self.members[other].peer_down(self.now, name)
                self.perform(other)

    def part(self, *sides: str) -> None:
        """Split the network into these sides; without sides, heal it."""
        before = {
            (one, other)
            for one in self.members
            for other in self.members
            if one < other and self.reaches(one, other)
        }
        self.split = tuple(map(frozenset, sides))
        for one in sorted(self.members):
            for other in sorted(self.members):
                if one == other or one not in self.members or other not in self.members:
                    continue
                was = (min(one, other), max(one, other)) in before
                if was and not self.reaches(one, other):
                    self.members[one].peer_down(self.now, other)
                elif not was and self.reaches(one, other):
                    self.members[one].peer_up(self.now, other)
                self.perform(one)
        self.envelopes = [one for one in self.envelopes if self.reaches(one.sender, one.to)]

    def deliver(self, at: int = 0) -> None:
        """Deliver the envelope number `at`."""
        envelope = self.envelopes.pop(at)
        member = self.members.get(envelope.to)
        if member is None or not self.reaches(envelope.sender, envelope.to):
            return
        match envelope.content:
            case FrameSent(view, seq):
                if member.may_append(view, seq) is FrameVerdict.TAKE:
                    self._append(envelope.to, view, seq)
            case DataSent():
                self._take(envelope.to, envelope.sender, envelope.content)
            case _:
                message: JoinMessage = envelope.content  # type: ignore[assignment]
                member.receive(self.now, envelope.sender, message)
        self.perform(envelope.to)

    def tick(self, name: str) -> None:
        """Advance the time to a member's deadline."""
        member = self.members.get(name)
        if member is None or member.deadline is None:
            return
        self.now = max(self.now, member.deadline)
        member.tick(self.now)
        self.perform(name)

    def write(self) -> bool:
        """Write a frame as a client if a member serves; return whether a member did."""
        for name in sorted(self.members):
            member = self.members[name]
            tip = member.view
            if member.is_serving and member.is_sequencer and tip is not None:
                last = self.disks[name].position
                seq = 1 if last is None else last.seq + 1
                if member.may_append(tip.id, seq) is not FrameVerdict.TAKE:
                    continue
                self._append(name, tip.id, seq)
                for seat in sorted(tip.members, key=lambda one: one.member):
                    if seat.member != name and self.reaches(name, seat.member):
                        self.envelopes.append(Envelope(name, seat.member, FrameSent(tip.id, seq)))
                return True
        return False

    def settle(self, *, rounds_max: int = 100) -> None:
        """Deliver all messages and advance the time, until there is no more progress."""
        idle = 0
        for _ in range(rounds_max):
            before = self._progress()
            while self.envelopes:
                self.deliver()
            for name in sorted(self.members):
                self.tick(name)
            # A member that waits begins a ballot at each tick, for ever; that is no progress.
            idle = 0 if before != self._progress() else idle + 1
            if idle > ROUNDS_IDLE:
                return

    def _progress(self) -> object:
        known = [(one.lineage.length, one.held, one.position) for one in self.disks.values()]
        return known, self.serving, len(self.acknowledged)

    # -- the host ------------------------------------------------------------------------------

    def perform(self, name: str) -> None:
        """Perform a member's actions."""
        while name in self.members and (batch := self.members[name].poll()):
            member = self.members[name]
            perform(batch, Host(self, name))
            member.advance(batch)

    def persist(self, name: str, record: StoreRecord) -> None:
        self.disks[name] = record
        self.on_write(name, record)

    def _append(self, name: str, view: ViewId, seq: int) -> None:
        self.frames[name] = (*self.frames[name], (view, seq))
        self.members[name].appended(view, seq)
        self.persist(name, evolve(self.disks[name], position=Position(view, seq)))
        tip = self.members[name].view
        assert tip is not None
        holders = {other for other in self.names if (view, seq) in self.frames[other]}
        if {seat.member for seat in tip.members} <= holders:
            self.acknowledged.append((view, seq))

    def _take(self, name: str, sender: str, data: DataSent) -> None:
        member = self.members[name]
        tip = member.view
        if member.source != sender or tip is None or tip.id != data.view:
            return
        if member.phase is Phase.UPDATING and data.position != tip.position:
            # The source has later frames: take its data only up to the view's start.
            cut = 0 if tip.position is None else tip.position.seq
            frames = tuple(one for one in data.frames if one[1] <= cut)
            data = DataSent(data.view, tip.position, frames)
        member.update_overwrites(self.now)
        self.perform(name)
        self.frames[name] = data.frames
        member.update_done(self.now, data.position)

    def reaches(self, one: str, other: str) -> bool:
        if not self.split:
            return True
        return any({one, other} <= side for side in self.split)

    # -- observations ---------------------------------------------------------------------------

    @property
    def serving(self) -> list[str]:
        """Return the members that serve clients."""
        return [name for name in sorted(self.members) if self.members[name].is_serving]

    def lost(self, name: str) -> list[FrameId]:
        """Return the acknowledged frames that this store does not have."""
        return [one for one in self.acknowledged if one not in self.frames[name]]


@frozen
class Host:
    """The ports that perform a batch of the member `name`."""

    life: Life
    name: str

    def close(self, why: Closing) -> None:
        """Do nothing, because the phase shows which member serves."""

    def persist(self, record: StoreRecord) -> None:
        self.life.persist(self.name, record)

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        life = self.life
        life.envelopes += [
            Envelope(self.name, sent.to, sent.message)
            for sent in sends
            if sent.to in life.members and life.reaches(self.name, sent.to)
        ]

    def see(self, event: Event) -> None:
        if isinstance(event, Waiting):
            self.life.waiting.append(event)

    def act(self, action: Action) -> None:
        life, name = self.life, self.name
        match action:
            case ServeUpdate(to, view):
                data = DataSent(view.id, life.disks[name].position, life.frames[name])
                life.envelopes.append(Envelope(name, to, data))
            case Stop():
                life.members.pop(name)


def start_and_settle(life: Life, names: Iterable[str]) -> None:
    """Start these members, and let them settle."""
    for name in names:
        life.start(name)
    life.settle()
