"""Members without threads: engines, logs, journals, stores, and a network under control.

Connections and time are simulated, and writes are not synced to the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from joinproto.durable.journal.journal import Frame
from joinproto.host.engine import Engine
from joinproto.host.ports import Call, Came, Channel, Down, Host, Item, Up
from joinproto.join.config import Config
from joinproto.join.messages import Abort, Closing, Stop
from joinproto.join.phases import Phase
from joinproto.join.view import Position, View
from joinproto.log.disk import Disk, open_disk
from joinproto.log.entry import Entry
from joinproto.log.keeper import Keeping
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.session import VERSIONS


@define
class Applied:
    """An application whose state is the list of texts that it got.

    `restored`: how many of them came from a snapshot.
    """

    texts: list[str] = field(factory=list)
    restored: int = 0
    kind: str = "texts"

    def state(self) -> Iterator[bytes]:
        return iter([f"{text}\n".encode() for text in self.texts])

    def restore(self, state: bytes) -> None:
        self.texts = state.decode().splitlines()
        self.restored = len(self.texts)

    def apply(self, frame: Frame) -> None:
        self.texts.append(Entry.of(frame.data).body.decode())

    def opened(self, view: View) -> None:
        pass

    def closed(self, why: Closing) -> None:
        pass


@define
class EngineMember:
    """One member.  `items`: inputs that have arrived, and that its engine does not have yet."""

    engine: Engine
    disk: Disk
    log: ReplicatedLog
    app: Applied
    items: list[Item] = field(factory=list)

    @property
    def phase(self) -> Phase:
        return self.engine.member.phase


@define
class _Wire:
    """The transport of one member: puts messages on the connections of the cluster."""

    cluster: EngineCluster
    name: str

    def send(self, to: str, channel: Channel, data: bytes) -> None:
        queue = self.cluster.wires.get((self.name, to))
        if queue is not None and channel not in self.cluster.lost:
            queue.append(Came(self.name, channel, data))

    def drop(self, peer: str, why: str) -> None:
        self.cluster.disconnect(self.name, peer)

    async def run(self, inbox: Any, *, task_status: Any) -> None: ...
    async def farewell(self) -> None: ...


@define
class _Clock:
    cluster: EngineCluster

    def now(self) -> float:
        return self.cluster.now

    def epoch_ms(self) -> int:
        return 0


@define
class EngineCluster:
    """Members, and the connections between them.

    `wires`: messages under way; messages for a channel in `lost` never arrive.  `speaks`: the
    version of the wire of each member that does not speak the latest.
    """

    top: Path
    names: str = "abc"
    now: float = 0.0
    patience: float = 0.5
    keeping: Keeping = field(factory=Keeping)
    members: dict[str, EngineMember] = field(factory=dict)
    wires: dict[tuple[str, str], deque[Came]] = field(factory=dict)
    lost: set[Channel] = field(factory=set)
    ended: dict[str, Stop | Abort | None] = field(factory=dict)
    acknowledged: list[tuple[str, Position]] = field(factory=list)
    speaks: dict[str, int] = field(factory=dict)

    def start(self, names: str, *, late: float = 0.0) -> None:
        """Start members; `late`: the delay of each one's first step."""
        for name in names:
            config = Config(
                member=name,
                electors=frozenset(self.names),
                wait_for=len(self.names) // 2 + 1,
                patience=self.patience,
                heartbeat=0.5,
            )
            disk = open_disk(self.top / name, name, "cluster")
            app = Applied()
            keeping = evolve(self.keeping, before_dropping=disk.before_dropping)
            log = ReplicatedLog(disk.journal, app, keeping=keeping)
            host = Host(
                store=disk.store,
                transport=_Wire(self, name),
                service=log,
                transfer=log,
                clock=_Clock(self),
            )
            engine = Engine.start(config, host, seed=name, record=disk.record)
            self.members[name] = EngineMember(engine, disk, log, app)
            self.now += late
            self.step(name)

    def close(self) -> None:
        for name in list(self.members):
            self.members.pop(name).disk.close()

    # -- connections ---------------------------------------------------------------------------

    def connect(self, one: str, other: str) -> None:
        if (one, other) not in self.wires and {one, other} <= self.members.keys():
            for near, far in ((one, other), (other, one)):
                self.wires[near, far] = deque()
                version = min(self.speaks.get(name, VERSIONS[1]) for name in (one, other))
                self.members[near].items.append(Up(far, version))

    def connect_all(self) -> None:
        for one in self.names:
            for other in self.names:
                if one < other:
                    self.connect(one, other)

    def disconnect(self, one: str, other: str) -> None:
        if self.wires.pop((one, other), None) is None:
            return
        del self.wires[other, one]
        for near, far in ((one, other), (other, one)):
            if near in self.members:
                self.members[near].items.append(Down(far))

    def deliver(self, sender: str, to: str, count: int = 1_000) -> None:
        """Deliver this many pieces, and let the receiver react to them."""
        wire = self.wires[sender, to]
        for _ in range(min(count, len(wire))):
            self.members[to].items.append(wire.popleft())
        self.step(to)

    # -- members -------------------------------------------------------------------------------

    def step(self, name: str) -> None:
        member = self.members[name]
        items, member.items = member.items, []
        for work in member.engine.step(items):
            work()
        if not member.engine.runs:
            self._end(name)

    def call(self, name: str, action: Callable[[EngineMember], None]) -> None:
        member = self.members[name]
        member.items.append(Call(partial(action, member)))
        self.step(name)

    def submit(self, name: str, text: str) -> None:
        """Write a text for a client of this member, if its log is open."""

        def action(member: EngineMember) -> None:
            if member.log.is_open:
                member.log.submit(text.encode(), lambda at: self.acknowledged.append((text, at)))

        self.call(name, action)

    def read(self, name: str) -> list[int | str]:
        """Read at this member; the returned object gets the answer, or the reason of a refusal."""
        answer: list[int | str] = []
        self.call(name, lambda member: member.log.barrier(answer.append, answer.append))
        return answer

    def kill(self, name: str) -> None:
        """End a process without a farewell."""
        self.members.pop(name).disk.close()
        for other in self.names:
            self.disconnect(name, other)

    def _end(self, name: str) -> None:
        member = self.members.pop(name)
        self.ended[name] = member.engine.ended
        member.disk.close()
        for other in self.names:
            # The last message, the farewell of a transport, arrives.
            for came in self.wires.get((name, other), ()):
                if other in self.members:
                    self.members[other].items.append(came)
            self.disconnect(name, other)

    def calm(self, seconds: float, *, connecting: bool = True) -> None:
        """Advance the time by this much, and deliver all messages."""
        end = self.now + seconds
        while True:
            if connecting:
                self.connect_all()
            if self._deliver_pending():
                continue
            due = [(at, name) for name, at in self._deadlines()]
            if not due or min(due)[0] > end:
                break
            self.now = max(self.now, min(due)[0])
            for at, name in due:
                if at <= self.now and name in self.members:
                    self.step(name)
        self.now = end

    def _deliver_pending(self) -> bool:
        busy = False
        for pair in list(self.wires):
            if self.wires.get(pair):
                self.deliver(*pair)
                busy = True
        for name in list(self.members):
            if name in self.members and self.members[name].items:
                self.step(name)
                busy = True
        return busy

    def _deadlines(self) -> Iterable[tuple[str, float]]:
        for name, member in self.members.items():
            if member.engine.deadline is not None:
                yield name, member.engine.deadline
