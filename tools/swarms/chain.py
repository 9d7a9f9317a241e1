"""The view chain of the built-in manager, simulated as one list that a majority keeps.

It replaces the join protocol and its log, which have their own random runs (`joinproto simulate
join --swarm`).  All views are in one order.  A broker reads and writes views while it is connected
to a majority.  A broker that is cut off does not know whether a view that it submitted just before
is in the list.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from attrs import define, field

from joinproto.apps.standby.managing import Manager
from joinproto.durable.journal.records import Frame
from joinproto.log import entry
from tools.swarms.loop import VirtualLoop

CLOSED = SimpleNamespace(value="no majority")


@define(eq=False)
class Chain:
    """The chain of all brokers.  `frames`: the frames that a majority has."""

    loop: VirtualLoop
    names: str
    chance: Random
    frames: list[bytes] = field(factory=list)
    members: dict[str, SimulatedLog] = field(factory=dict)
    _connected: frozenset[str] = frozenset()

    def begin(self, name: str, manager: Manager) -> None:
        """Add a broker's manager, which gets a simulated log."""
        member = self.members[name] = SimulatedLog(self, name, manager)
        manager.replicated = member  # type: ignore[assignment]
        manager.cluster = SimpleNamespace(nudge=lambda: None)  # type: ignore[assignment]

    def end(self, name: str) -> None:
        """Remove a broker whose process has ended."""
        member = self.members.pop(name, None)
        if member is not None:
            member.is_open = False
            self._connected -= {name}

    def check_links(self) -> None:
        """Note which brokers are connected to a majority; called at short intervals."""
        there = frozenset(self.members.keys() - self.loop.apart)
        if len(there) <= len(self.names) // 2:
            there = frozenset()
        if there == self._connected:
            return
        self._connected = there
        for name, member in self.members.items():
            if name not in there:
                member.close()
            else:
                # Members need some time to agree on a view.
                self.loop.call_later(self.chance.uniform(0.1, 0.6), member.open, there)

    def append(self, data: bytes) -> None:
        """Append a frame, and let all connected brokers read it."""
        self.frames.append(data)
        for name in sorted(self._connected & self.members.keys()):
            self.loop.call_later(self.chance.uniform(0.0, 0.05), self.members[name].read)


@define(eq=False)
class SimulatedLog:
    """The log as a manager sees it, in place of `ReplicatedLog`."""

    chain: Chain
    name: str
    manager: Manager
    is_open: bool = False
    _read: int = 0
    _waiting: list[Callable[[], None]] = field(factory=list)

    def submit(self, data: bytes, done: Callable[[Any], None], lost: Callable[[], None]) -> None:
        """Submit a view.  `lost`: called if it is unknown whether the view is in the log."""
        _ = done
        if not self.is_open:
            self._waiting.append(lost)
            return
        self.chain.loop.call_later(self.chain.chance.uniform(0.01, 0.1), self._send, data, lost)

    def _send(self, data: bytes, lost: Callable[[], None]) -> None:
        if self.is_open:
            self.chain.append(data)
        elif self.name in self.chain.members:
            self._waiting.append(lost)
            if self.chain.chance.random() < 0.5 and self.chain._connected:
                self.chain.append(data)

    def open(self, there: frozenset[str]) -> None:
        if self.chain._connected != there or self.chain.members.get(self.name) is not self:
            return
        self.is_open = True
        self.read()
        seats = [SimpleNamespace(member=name) for name in sorted(there)]
        self.manager.opened(SimpleNamespace(members=seats))  # type: ignore[arg-type]
        waiting, self._waiting = self._waiting, []
        for lost in waiting:
            lost()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.manager.closed(CLOSED)  # type: ignore[arg-type]

    def read(self) -> None:
        """Give the manager all frames that it has not read."""
        if not self.is_open:
            return
        while self._read < len(self.chain.frames):
            self._read += 1
            data = entry.packed("a", self._read, self.chain.frames[self._read - 1])
            self.manager.apply(Frame("0" * 64, self._read, data))
