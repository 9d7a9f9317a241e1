"""Hosts around real members, and a bus between these hosts that a test controls.

A host has the duties that `docs/embedding.md` numbers.  Its frames are positions: the data of a
store is the list of its frames, which are on the disk as soon as they are written.  All messages
pass through `wire`, as bytes.  Time is a number; `wait` moves it from deadline to deadline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from joinproto.join.config import Config, TotalFailure
from joinproto.join.frames import FrameVerdict
from joinproto.join.ids import ViewId
from joinproto.join.member import Member
from joinproto.join.messages import (
    Abort,
    Action,
    Closing,
    CompareAndSet,
    Event,
    JoinMessage,
    OpenForClients,
    ReadRegister,
    Sent,
    ServeUpdate,
    StartUpdate,
    Stop,
)
from joinproto.join.perform import perform
from joinproto.join.phases import RUNNING, Phase
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View
from joinproto.join.wire import LATEST, decode, encode
from joinproto.store.handle import Store, create_store, open_store

# -- messages between hosts, besides those of members ------------------------------------


@frozen
class FrameSent:
    """From the sequencer: write the frame `seq` of this view."""

    view: ViewId
    seq: int


@frozen
class FrameKept:
    """To the sequencer: the frame is on the disk of this seat."""

    view: ViewId
    seq: int
    seat: Seat


@frozen
class Data:
    """All frames of a source."""

    view: ViewId
    position: Position | None
    frames: tuple[Position, ...]


Content: TypeAlias = "bytes | FrameSent | FrameKept | Data"


@frozen
class Envelope:
    """A message under way."""

    sender: str
    to: str
    content: Content


class Crashed(Exception):
    """The process ends here, in the middle of its work."""


# -- a disk ------------------------------------------------------------------------------------


@define
class Disk:
    """The record and the frames of one store; with a `path` the record is in a real file."""

    member: str
    record: StoreRecord
    frames: tuple[Position, ...] = ()
    path: Path | None = None
    _store: Store | None = None

    def open(self) -> StoreRecord:
        """Open the disk at a process's start, and return its record."""
        if self.path is not None and not self.record.transient:
            if self.path.exists():
                self._store = open_store(self.path)
                self.record = self._store.record
            else:
                self.path.mkdir()
                self._store = create_store(self.path, self.record, member=self.member)
        # The journal of frames, which is written with each frame, also knows the position.
        if self.record.update_unfinished:
            return self.record
        return evolve(self.record, position=self.frames[-1] if self.frames else None)

    def write(self, record: StoreRecord) -> None:
        if self._store is not None:
            self._store.write(record)
        self.record = record

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


# -- a host --------------------------------------------------------------------------------------


@define
class Host:
    """One process with its member.

    `told`: the member's requests to close, open and act; `seen`: its events.
    """

    bus: Bus
    config: Config
    disk: Disk
    member: Member
    serves: View | None = None
    is_up: bool = True
    kept_by: dict[Position, set[Seat]] = field(factory=dict)
    told: list[Action | Closing] = field(factory=list)
    seen: list[Event] = field(factory=list)

    @property
    def name(self) -> str:
        return self.config.member

    @property
    def runs(self) -> bool:
        return self.is_up and self.member.phase in RUNNING

    def perform(self) -> None:
        """Perform the member's actions."""
        while batch := self.member.poll():
            perform(batch, self)
            self.member.advance(batch)
        if not self.runs:
            self.disk.close()

    def close(self, why: Closing) -> None:
        self.told.append(why)
        self.serves = None

    def persist(self, record: StoreRecord) -> None:
        self.disk.write(record)
        self.bus.wrote(self)

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            self.bus.send(self.name, sent.to, encode(sent.message, speaks=LATEST))

    def see(self, event: Event) -> None:
        self.seen.append(event)

    def call_member(self, method: Callable[[Member], None]) -> None:
        method(self.member)
        self.perform()

    def hear(self, envelope: Envelope) -> None:
        match envelope.content:
            case bytes():
                self.member.receive(self.bus.now, envelope.sender, decode(envelope.content))
            case FrameSent(view, seq):
                self._take(envelope.sender, view, seq)
            case FrameKept(view, seq, seat):
                self.kept_by.setdefault(Position(view, seq), set()).add(seat)
            case Data() as data:
                self._take_data(envelope.sender, data)
        self.perform()

    def write(self) -> Position | None:
        """Write a frame for a client; return None if this host is no sequencer, or must not."""
        view, last = self.serves, self.member.record.position
        if view is None or not self.member.is_sequencer:
            return None
        seq = 1 if last is None else last.seq + 1
        if not self._append(view.id, seq):
            return None
        for seat in sorted(view.members, key=lambda item: item.member):
            self.bus.send(self.name, seat.member, FrameSent(view.id, seq))
        return Position(view.id, seq)

    def is_acknowledged(self, frame: Position) -> bool:
        """Return whether this host, as the sequencer, may acknowledge the frame to its client."""
        view = self.serves
        if view is None or view.id != frame.view or frame not in self.disk.frames:
            return False
        return view.members <= self.kept_by.get(frame, set()) | {self.member.seat}

    def _take(self, sender: str, view: ViewId, seq: int) -> None:
        if self._append(view, seq) or Position(view, seq) in self.disk.frames:
            self.bus.send(self.name, sender, FrameKept(view, seq, self.member.seat))

    def _append(self, view: ViewId, seq: int) -> bool:
        if self.member.may_append(view, seq) is not FrameVerdict.TAKE:
            return False
        frame = Position(view, seq)
        self.disk.frames = (*self.disk.frames, frame)
        self.member.appended(view, seq)
        self.bus.kept(self, frame)
        return True

    def _take_data(self, sender: str, data: Data) -> None:
        member = self.member
        tip = member.view
        if member.is_frozen or member.source != sender or tip is None or tip.id != data.view:
            return
        if member.phase is Phase.UPDATING and data.position != tip.position:
            return
        member.update_overwrites(self.bus.now)
        self.perform()
        self.disk.frames = data.frames
        member.update_done(self.bus.now, data.position)

    def act(self, action: Action) -> None:
        self.told.append(action)
        match action:
            case OpenForClients(view):
                self.serves = view
                self.bus.opened(self, view)
            case ServeUpdate(to, view):
                data = Data(view.id, self.member.record.position, self.disk.frames)
                self.bus.send(self.name, to, data)
            case CompareAndSet(parent, view) if self.name not in self.bus.off_register:
                there = self.bus.register.setdefault(parent, view)
                self.member.register_says(self.bus.now, there)
            case ReadRegister(parent, asked, question) if self.name not in self.bus.off_register:
                successor = self.bus.register.get(parent)
                if successor is None:
                    self.member.register_free(self.bus.now, parent, asked, question)
                else:
                    self.member.register_says(self.bus.now, successor)
            case ReadRegister() | CompareAndSet():
                pass  # out of reach
            case Stop() | Abort():
                self.serves = None
            case StartUpdate():
                pass  # the member itself asks the source


# -- the bus -------------------------------------------------------------------------------------


@define
class Bus:
    """All hosts, and the messages under way between them.

    `cut`: pairs of names between which no message passes.  `before_sending`: called with the
    sender before each message leaves; raises `Crashed` if its process must end there.
    """

    hosts: dict[str, Host] = field(factory=dict)
    disks: dict[str, Disk] = field(factory=dict)
    now: float = 0.0
    wire: deque[Envelope] = field(factory=deque)
    cut: set[frozenset[str]] = field(factory=set)
    register: dict[ViewId | None, View] = field(factory=dict)
    off_register: set[str] = field(factory=set)  # members that cannot reach the register
    starts: int = 0
    top: Path | None = None
    before_sending: Callable[[str], None] = lambda name: None
    wrote: Callable[[Host], None] = lambda host: None
    kept: Callable[[Host, Position], None] = lambda host, frame: None
    opened: Callable[[Host, View], None] = lambda host, view: None

    # -- processes -------------------------------------------------------------------------

    def start(self, config: Config, *, record: StoreRecord | None = None) -> Host:
        """Start a process with the disk that it left, or with a new one."""
        name = config.member
        self.starts += 1
        if name not in self.disks or record is not None or config.is_transient:
            fresh = StoreRecord(store_id=f"{name}{self.starts}", transient=config.is_transient)
            path = None if self.top is None else self.top / f"{name}{self.starts}"
            self.disks[name] = Disk(name, record or fresh, path=path)
        disk = self.disks[name]
        peers = frozenset(other for other in self.up() if not self._is_cut(name, other))
        member = Member.start(
            self.now,
            config,
            disk.open(),
            seed=f"seed {self.starts}",
            in_reach=peers - {name},
        )
        host = Host(self, config, disk, member)
        self.hosts[name] = host
        self._perform(host)
        for other in sorted(peers - {name}):
            if not host.runs:
                break
            self.tell(other, lambda one: one.peer_up(self.now, name))
            # The connection is there for both members, so the newcomer says hello, too.
            self.tell(name, lambda one, other=other: one.peer_up(self.now, other))  # type: ignore[misc]
        return host

    def crash(self, name: str) -> None:
        """End a process without notice; its messages stay under way."""
        host = self.hosts[name]
        host.is_up = False
        host.serves = None
        host.disk.close()
        self._lose(name)

    def wipe(self, name: str) -> None:
        """Remove the disk of a process that does not run; its next start gets a new one."""
        self.disks.pop(name)

    def up(self) -> list[str]:
        return sorted(name for name, host in self.hosts.items() if host.runs)

    # -- the network -----------------------------------------------------------------------

    def send(self, sender: str, to: str, content: Content) -> None:
        self.before_sending(sender)
        if sender != to:
            self.wire.append(Envelope(sender, to, content))

    def say(self, sender: str, to: str, message: JoinMessage) -> None:
        """Put a message of the test's own from `sender` under way, and deliver all answers."""
        self.wire.append(Envelope(sender, to, encode(message)))
        self.settle()

    def partition(self, *sides: str) -> None:
        """Connect only members that are named in one text; `partition()` connects all."""
        before = set(self.cut)
        self.cut = {
            frozenset({one, other})
            for one in self.hosts
            for other in self.hosts
            if one != other and sides and not any({one, other} <= set(side) for side in sides)
        }
        for pair in sorted(map(sorted, before ^ self.cut)):
            one, other = pair
            for here, there in ((one, other), (other, one)):
                if not (self.hosts[here].runs and self.hosts[there].runs):
                    continue
                if frozenset(pair) in self.cut:
                    self.tell(here, lambda m, there=there: m.peer_down(self.now, there))  # type: ignore[misc]
                else:
                    self.tell(here, lambda m, there=there: m.peer_up(self.now, there))  # type: ignore[misc]

    def deliver(self, at: int = 0, *, again: bool = False) -> None:
        """Deliver the message at this place; `again`: the message also stays under way."""
        envelope = self.wire[at]
        if not again:
            del self.wire[at]
        host = self.hosts.get(envelope.to)
        if host is None or not host.runs or self._is_cut(envelope.sender, envelope.to):
            return
        self._guarded(host, lambda: host.hear(envelope))

    def step(self) -> None:
        """Deliver the oldest message; if none is under way, let the next deadline come."""
        due = self.next_deadline()
        if self.wire:
            self.deliver()
        elif due is not None:
            self.now = max(self.now, due)
            self.tick()

    def settle(self, limit: int = 5_000) -> None:
        """Deliver all messages, and the answers to them."""
        while self.wire:
            limit -= 1
            assert limit > 0, f"the members never come to rest: {self.wire[0]}"
            self.deliver()

    def wait(self, seconds: float = 20.0) -> None:
        """Advance the time from deadline to deadline, and deliver all messages."""
        until = self.now + seconds
        self.settle()
        while (due := self.next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            self.tick()
            self.settle()
        self.now = until

    def next_deadline(self) -> float | None:
        hosts = [self.hosts[name] for name in self.up()]
        dues = [host.member.deadline for host in hosts if host.member.deadline is not None]
        return min(dues, default=None)

    def tick(self) -> None:
        """Call `tick` of each member whose deadline has come."""
        for name in self.up():
            deadline = self.hosts[name].member.deadline
            if deadline is not None and deadline <= self.now:
                self.tell(name, lambda member: member.tick(self.now))

    def tell(self, name: str, method: Callable[[Member], None]) -> None:
        """Give a member an input, and perform its actions."""
        host = self.hosts[name]
        if host.runs:
            self._guarded(host, lambda: host.call_member(method))

    def write(self, name: str) -> None:
        """Write a frame as a client of this member, if the member orders the frames."""
        host = self.hosts[name]
        if host.runs:
            self._guarded(host, host.write)

    # -- small parts -----------------------------------------------------------------------

    def _perform(self, host: Host) -> None:
        self._guarded(host, host.perform)

    def _guarded(self, host: Host, function: Callable[[], object]) -> None:
        was_running = host.runs
        try:
            function()
        except Crashed:
            self.crash(host.name)
        if was_running and host.is_up and not host.runs:
            self._lose(host.name)

    def _lose(self, name: str) -> None:
        """Let the other members notice that a process has ended."""
        for other in self.up():
            if other != name:
                self.tell(other, lambda member: member.peer_down(self.now, name))

    def _is_cut(self, one: str, other: str) -> bool:
        return frozenset({one, other}) in self.cut

    # -- for tests -----------------------------------------------------------------------

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def phases(self) -> str:
        """Return the phase of each member, as "a active, b joining, c down"."""
        return ", ".join(
            f"{name} {host.member.phase.value if host.is_up else 'down'}"
            for name, host in sorted(self.hosts.items())
        )

    def tips(self) -> set[str]:
        """Return the tips of the members that are up, as "CHANGE 2 of a b"."""
        return {str(self.hosts[name].member.view).split(" (")[0] for name in self.up()}


def config(name: str, *, electors: str = "abc", wait_for: int = 2, **more: object) -> Config:
    """Return a member's configuration: by default three electors, and a `wait_for` of two."""
    return Config(member=name, electors=frozenset(electors), wait_for=wait_for, **more)  # type: ignore[arg-type]


def cluster(names: str = "abc", **options: object) -> Bus:
    """Return a cluster of these members, all of them active in its FOUND."""
    bus = Bus()
    start_all(bus, names, **options)
    bus.wait()
    return bus


def start_all(bus: Bus, names: Iterable[str], **options: object) -> None:
    for name in names:
        bus.start(config(name, **options))  # type: ignore[arg-type]


AUTOMATIC = TotalFailure.AUTOMATIC
