"""A simulation: processes, their disks, the network between them, and one clock for all.

`actions.py` and `fair_phase.py` decide which events happen.  Here time passes; processes begin,
take steps and end; and the oracle is told of each of these.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random

from attrs import define, evolve, field

from joinproto.host.ports import Channel
from joinproto.join.member import Member
from joinproto.join.messages import Learned, PhaseChanged, Proposes, Refusal, Waiting
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.log.replicated import ReplicatedLog
from joinproto.swarm.host import Clients, Clock, Process
from joinproto.swarm.network import Network
from joinproto.swarm.oracle import Oracle, Violation
from joinproto.swarm.place import DataDirectory, Died
from joinproto.swarm.register import Register
from joinproto.swarm.scenario import Scenario

CLUSTER = "swarm"

EVENTS_MOST = 200_000

READS_SHARE = 0.3
"""The share of the members at which a client reads right after an acknowledgement."""


@define(eq=False)
class Simulation:
    """A simulation.  `story`: the events in words, if `tells`.

    `power`: the members whose disks lose power when their processes end; `gone`: the members that
    never start again.
    """

    scenario: Scenario
    start: Callable[..., Member]
    tells: bool = False
    now: float = 0.0
    events: int = 0
    story: list[str] = field(factory=list)
    processes: dict[str, Process] = field(factory=dict)
    places: dict[str, DataDirectory] = field(factory=dict)
    oracle: Oracle = field(init=False)
    network: Network = field(init=False)
    chance: Random = field(init=False)
    readers: Random = field(init=False)
    clocks: dict[str, Clock] = field(factory=dict)
    _queue: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _count: count[int] = field(factory=count)
    _wakes: dict[str, float] = field(factory=dict)
    power: set[str] = field(factory=set)
    gone: set[str] = field(factory=set)
    options: dict[str, str] = field(factory=dict)
    register: Register = field(init=False)
    _said: dict[str, str] = field(factory=dict)
    _written: int = 0
    acked_at: float = -1.0

    def __attrs_post_init__(self) -> None:
        it = self.scenario
        self.chance = Random(f"run {it.seed}")
        # Readers have their own random numbers, so that reads change little of the rest.
        self.readers = Random(f"readers {it.seed}")
        self.oracle = Oracle(it, lambda: iter(self.processes.values()), self._records)
        self.network = Network(it, self)
        self.register = Register(self)
        for name, rate in zip(it.members, it.drift or (1.0,) * len(it.members), strict=False):
            self.clocks[name] = Clock(rate, ahead=ord(name) % 7)
            self.places[name] = DataDirectory(
                name, CLUSTER, name in it.transients, it.on_disk, Random(f"disk {it.seed} {name}")
            )

    # -- time ----------------------------------------------------------------------------------

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        heappush(self._queue, (self.now + seconds, next(self._count), action))

    def advance(self, until: float) -> None:
        queue = self._queue
        while queue and queue[0][0] <= until:
            at, _, action = heappop(queue)
            self.now = max(self.now, at)
            self.events += 1
            if self.events > EVENTS_MOST:
                raise Violation("serves_again", f"no end after {EVENTS_MOST} events")
            action()
        self.now = max(self.now, until)

    def tell(self, text: str) -> None:
        if self.tells:
            self.story.append(f"{self.now:9.3f} s  {text}")

    # -- processes -----------------------------------------------------------------------------

    def is_up(self, name: str) -> bool:
        return name in self.processes

    def begin(self, name: str) -> None:
        if name in self.processes or name in self.gone:
            return
        self.oracle.starts += 1
        place, clock = self.places[name], self.clocks[name]
        try:
            disk = place.open()
        except Died:
            self.tell(f"{name} dies while it starts")
            self._ends(name, place)
            return
        except Exception as error:
            raise self._error(name, error) from error
        self.oracle.require("is_durable", not disk.lost, disk.lost)
        clients = Clients()
        log = ReplicatedLog(disk.journal, clients)
        log.origin = f"{name}{self.oracle.starts}"
        config = self.scenario.config(name, options=self.options.get(name, "default"))
        config = evolve(config, cluster_name=CLUSTER)
        seed = f"{self.scenario.seed}.{self.oracle.starts}"
        try:
            member = self.start(clock.read(self.now), config, disk.record, seed=seed)
        except Exception as error:
            disk.close()
            raise self._error(name, error) from error
        process = Process(member, log, place, disk, self, clock, name)
        clients.process = process
        log.attach(process)
        process.saw_it_run = any(one.was_ready for one in self.processes.values())
        self.processes[name] = process
        self.step(name)
        self.network.connect_all()

    def step(self, name: str, action: Callable[[Process], None] | None = None) -> None:
        """Run an action of the process, and all its consequences."""
        process = self.processes.get(name)
        if process is None:
            return
        try:
            process.step(action)
        except Died:
            self.tell(f"{name} dies")
            if process.place.dies_feeding:
                self.gone.add(name)
            self.kill(name)
            return
        except Violation:
            raise
        except Exception as error:
            raise self._error(name, error) from error
        if not process.runs:
            self.tell(f"{name} ends: {process.ended}")
            self.oracle.ended(process)
            self.kill(name)
            return
        self._wake(process)

    def _error(self, name: str, error: Exception) -> Violation:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, {frame.name}"
        return Violation("no_error", f"{name}: {type(error).__name__}: {error} ({where})")

    def _wake(self, process: Process) -> None:
        due = process.deadline
        if due is None:
            return
        due = max(due, self.now) + 1e-9
        if self.now <= self._wakes.get(process.name, -1.0) <= due:
            return
        self._wakes[process.name] = due

        def wake() -> None:
            if self._wakes.get(process.name) == due:
                del self._wakes[process.name]
                if self.processes.get(process.name) is process:
                    self.step(process.name)
            else:
                self.events -= 1

        self.later(due - self.now, wake)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name, None)
        if process is None:
            return
        self._wakes.pop(name, None)
        process.disk.close()
        self._ends(name, process.place)
        self.network.ended(name)

    def _ends(self, name: str, place: DataDirectory) -> None:
        place.process_ends(power=name in self.power)
        self.power.discard(name)

    def _records(self) -> dict[str, StoreRecord]:
        records = {}
        for name, place in self.places.items():
            process = self.processes.get(name)
            if place.record is not None and (process is not None or not place.is_transient):
                records[name] = place.record
        return records

    # -- for processes -------------------------------------------------------------------------

    def write(self, name: str) -> None:
        process = self.processes.get(name)
        if process is None or not process.is_served:
            return
        self._written += 1
        body = f"w{self._written}".encode()

        def done(at: Position) -> None:
            self.acked_at = self.now
            self.tell(f"{body.decode()} of a client at {name} is acknowledged as frame {at.seq}")
            self.oracle.acknowledged(body, at)
            for other in self.scenario.members:
                if self.readers.random() < READS_SHARE:
                    self.later(0.0, partial(self.read, other))

        self.step(name, lambda it: it.submit(body, done))

    def read(self, name: str) -> None:
        """Read as a client at this member, if it serves."""
        process = self.processes.get(name)
        if process is None or not process.is_served:
            return
        acked = self.oracle.newest_acked

        def answered(seq: int) -> None:
            self.oracle.answered(process, seq, acked)

        self.step(name, lambda it: it.read_for(answered))

    def tell_up(self, name: str, peer: str) -> None:
        self.step(name, lambda it: it.up(peer))

    def tell_down(self, name: str, peer: str) -> None:
        self.step(name, lambda it: it.down(peer))

    def deliver(self, name: str, peer: str, channel: Channel, content: object) -> None:
        self.step(name, lambda it: it.hear(peer, channel, content))

    def saw(self, process: Process, event: object) -> None:
        text = in_words(event) if self.tells else ""
        # A line that a member repeats is reported once.
        if text and self._said.get(process.name) != text:
            self._said[process.name] = text
            self.tell(f"{process.name} {text}")
        self.oracle.saw(process, event)

    def opens(self, process: Process, view: View) -> None:
        self.tell(f"{process.name} serves {view}")
        self.oracle.opens(process, view)


def in_words(event: object) -> str:
    """Return a member's event in words, which follow the member's name in a story."""
    match event:
        case PhaseChanged(before, after, label, case):
            return f"is {after.value}, was {before.value} ({label}: {case})"
        case Learned(view):
            return f"learns {view}"
        case Proposes(label, case, view, _):
            return f"proposes {view} ({label}: {case})"
        case Waiting(label, case, _, detail, _):
            return f"waits ({label}: {case}{'; ' if detail else ''}{detail})"
        case Refusal(peer, what):
            return f"refuses {peer}: {what}"
        case _:
            return str(event)
