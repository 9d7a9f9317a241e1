"""A process: one member, the log behind it, and the host's duties of `docs/embedding.md`.

The log uses the process as its `EventLoop`.  A process may die at each change of its disk, even in
the middle of a write, and between two sends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from attrs import define, field

from joinproto.durable.journal.journal import Frame as Kept
from joinproto.host.member_loop import MemberLoop
from joinproto.host.ports import Channel
from joinproto.join import inputs, messages
from joinproto.join.ids import ViewId
from joinproto.join.perform import perform
from joinproto.join.phases import RUNNING
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View
from joinproto.join.wire import decode
from joinproto.log.entry import Entry
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.session import VERSIONS
from joinproto.swarm.place import DataDirectory, Died, OpenFiles

if TYPE_CHECKING:
    from joinproto.swarm.simulation import Simulation

ROUNDS_MOST = 10_000
"""The most rounds of one step; with more, a member or its log does not come to rest."""


_decode = lru_cache(maxsize=4096)(decode)  # many members send the same bytes


@define(eq=False)
class Clock:
    """The clock of one machine, which drifts and jumps ahead, but never goes back."""

    rate: float = 1.0
    ahead: float = 0.0

    def read(self, now: float) -> float:
        return now * self.rate + self.ahead

    def when(self, reading: float) -> float:
        """Return the run's time at which this clock shows `reading`."""
        return (reading - self.ahead) / self.rate


@define(eq=False)
class Process(MemberLoop):
    """A process of one member.  `ended`: why it has stopped.

    `connected`: the connected peers.  `left`: its view, if the view had a successor when the
    process got its first connection after having none.  `gone`: the members that it knows to have
    left its view.  `was_ready`: it was ready at some time; `saw_it_run`: a process that had been
    ready was up at the same time.  `stood`: views that had no successor by the register's answer to
    this process.
    """

    log: ReplicatedLog
    place: DataDirectory
    disk: OpenFiles
    simulation: Simulation
    clock: Clock
    name: str
    opened: View | None = None
    is_served: bool = False
    ended: messages.Stop | messages.Abort | None = None
    waiting: messages.Waiting | None = None
    bodies: set[bytes] = field(factory=set)  # the bodies of the frames that were applied
    was_ready: bool = False
    saw_it_run: bool = False
    stood: set[ViewId] = field(factory=set)
    connected: set[str] = field(factory=set)
    left: ViewId | None = None
    gone: set[Seat] = field(factory=set)
    _late: list[str] = field(factory=list)

    @property
    def runs(self) -> bool:
        return self.ended is None and self.member.phase in RUNNING

    @property
    def deadline(self) -> float | None:
        """Return when `step` must be called at the latest, in the run's time."""
        due, other = self.member.deadline, self.log.deadline
        if due is None or (other is not None and other < due):
            due = other
        return self.clock.when(due) if due is not None and self.runs else None

    # -- events --------------------------------------------------------------------------------

    def step(self, function: Callable[[Process], None] | None = None) -> None:
        """Call `function`, then perform all effects, until the member and its log are at rest."""
        if function is not None:
            function(self)
        self._perform()
        due = self.member.deadline
        if due is not None and self.now() >= due and self.runs:
            self.tell(inputs.Tick())
            self._perform()
        for _ in range(ROUNDS_MOST):
            if not self.runs:
                return
            for work in self.log.work():
                work()
            if not self._late and not self.member.poll():
                return
            late, self._late = self._late, []
            self._perform()
            for peer in late:
                self.down(peer)
                self._perform()
        raise RuntimeError(f"{self.name} does not come to rest in one step")

    def up(self, peer: str) -> None:
        if not self.connected:
            self.simulation.oracle.connected(self)
        self.connected.add(peer)
        self.tell(inputs.PeerUp(peer))
        self.log.peer_up(peer)

    def down(self, peer: str) -> None:
        self.connected.discard(peer)
        self.tell(inputs.PeerDown(peer))
        self.log.peer_down(peer)

    def hear(self, peer: str, channel: Channel, content: object) -> None:
        """Give a message of `peer` to the member, or its bytes to the log."""
        if channel is Channel.HOST:
            assert isinstance(content, bytes)
            self.log.hear(peer, content)
            return
        message = _decode(content) if isinstance(content, bytes) else content
        self.tell(inputs.Receive(peer, message))  # type: ignore[arg-type]
        self.gone |= self.member.state.observations.beyond

    def submit(self, body: bytes, done: Callable[[Position], None]) -> None:
        """Write for a client, if this member serves."""
        if self.is_served and self.log.is_open:
            self.log.submit(body, done)

    def read_for(self, done: Callable[[int], None]) -> None:
        """Read for a client, if this member serves."""
        if self.is_served:
            self.log.barrier(done)

    # -- actions ------------------------------------------------------------------------------

    def _perform(self) -> None:
        while batch := self.member.poll():
            perform(batch, self)
            self.member.advance(batch)

    def close(self, why: messages.Closing) -> None:
        if self.opened is not None:
            self.opened = None
            self.log.close(why)

    def persist(self, record: StoreRecord) -> None:
        self.place.write_with(self.disk.writer, record)
        self.simulation.oracle.wrote(self)

    def send_all(self, sends: tuple[messages.Sent, ...]) -> None:
        for sent in sends:
            self.place.step()
            self.simulation.network.send(self.name, sent.to, Channel.MEMBER, sent.message)

    def see(self, event: messages.Event) -> None:
        if isinstance(event, messages.Learned):
            self.log.learned(event.view)
            self.gone = set()
        if isinstance(event, messages.Waiting):
            self.waiting = event
        self.simulation.saw(self, event)

    def act(self, action: messages.Action) -> None:
        match action:
            case messages.OpenForClients(view, is_sequencer):
                self.opened = view
                self.waiting = None
                self.simulation.opens(self, view)
                self.log.open(view, is_sequencer=is_sequencer)
            case messages.StartUpdate():
                self.log.start_update(action)
            case messages.ServeUpdate():
                if self.place.dies_feeding:
                    raise Died
                self.log.serve_update(action)
            case messages.CompareAndSet(parent, view):
                self.simulation.register.asked(self, parent, view, self.now(), 0)
            case messages.ReadRegister(parent, asked, question):
                self.simulation.register.asked(self, parent, None, asked, question)
            case messages.ReadsConfirmed(upto):
                if self.opened is not None:
                    self.log.confirmed(upto)
            case messages.Stop() | messages.Abort():
                self.close(messages.Closing.STOPPED)
                self.ended = action

    # -- called by the log ---------------------------------------------------------------------

    def now(self) -> float:
        return self.clock.read(self.simulation.now)

    def send(self, to: str, data: bytes) -> None:
        self.place.step()
        self.simulation.network.send(self.name, to, Channel.HOST, data)

    def speaks(self, peer: str) -> int:
        return VERSIONS[1]

    def appended(self, view: ViewId, first: int, last: int, digest: Callable[[int], str]) -> None:
        self.place.reported = Position(view, last)
        self.member.appended(view, last, first=first)
        for seq in range(first, last + 1):
            self.simulation.oracle.has(self, str(view), seq, digest(seq))

    def may_cut(self) -> bool:
        if not self.member.record.update_unfinished:
            self.tell(inputs.UpdateOverwrites())
        if self.member.poll():
            return False
        self.place.reported = None
        return True

    def tell(self, what: inputs.Input) -> None:
        if isinstance(what, inputs.UpdateDone):
            self.place.reported, self.place.has_reported_end = what.position, True
        super().tell(what)

    def give_up_on(self, peer: str, why: str) -> None:
        self.simulation.network.lose(self.name, peer)
        self._late.append(peer)

    def note(self, what: str, **facts: object) -> None:
        """Do nothing, because the oracle reads the journal and the member itself."""


@define(eq=False)
class Clients:
    """An application that only reads the log."""

    process: Process = field(init=False)

    def apply(self, frame: Kept) -> None:
        it = self.process
        it.simulation.oracle.applied(it, frame.seq, Entry.of(frame.data).body)

    def opened(self, view: View) -> None:
        self.process.is_served = True

    def closed(self, why: messages.Closing) -> None:
        self.process.is_served = False
