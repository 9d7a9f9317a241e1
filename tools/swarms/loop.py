"""Virtual time, a network in memory, and a worker whose work takes a given time.

The code of a process runs unchanged, except its sockets.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from selectors import SelectorKey, SelectSelector
from typing import Any

from attrs import define, field

from joinproto.apps.standby.performing import Done, InlineWorker

TURNS_MAX = 10_000
"""The most turns of the event loop at one moment of virtual time."""


@contextmanager
def silent() -> Iterator[None]:
    """Silence the log during the block, because hosts log each fault."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


class JumpingSelector(SelectSelector):
    """Never waits, and adds the time that it would wait to `now`."""

    now = 0.0
    turns = 0  # turns of the loop since `now` changed

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        assert timeout is not None, "no timer is set, so the loop would wait forever"
        self.turns = 0 if timeout > 0 else self.turns + 1
        assert self.turns < TURNS_MAX, "time stands still"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with its own time and its own network.

    A host listens at NAME, and is called at CALLER-NAME.  `apart`: hosts that are cut off; messages
    to and from them wait.
    """

    def __init__(self) -> None:
        self.selector = JumpingSelector()
        self.listening: dict[str, Callable[[], asyncio.BaseProtocol]] = {}
        self.ends: list[End] = []
        self.apart: set[str] = set()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now

    async def create_server(  # type: ignore[override]
        self, factory: Any, host: Any, _: Any, **more: Any
    ) -> Any:
        return Listener(self, host, factory)

    async def create_connection(  # type: ignore[override]
        self, factory: Any, host: Any, _: Any = None, **more: Any
    ) -> Any:
        names = host.split("-")
        if names[1] not in self.listening or self.apart & {*names}:
            raise ConnectionRefusedError(host)
        # Latencies differ, so that backups differ when a primary is killed.
        latency = 0.001 * (1 + len(self.ends) % 3)
        one = End(self, names[0], factory(), latency)
        other = End(self, names[1], self.listening[names[1]](), latency, one)
        one.other = other
        for end in (one, other):
            self.ends.append(end)
            end.protocol.connection_made(end)
        return one, one.protocol

    def heal(self) -> None:
        """End all cuts, and deliver the messages that wait."""
        self.apart.clear()
        for end in self.ends:
            for _ in range(len(end.under_way)):
                end.arrive()

    def kill(self, name: str, keeps: Callable[[int], int] = lambda _: 0) -> None:
        """End all connections of a host, as if its process were killed.

        `keeps`: returns how many of the pieces under way, given their number, still arrive.
        """
        self.listening.pop(name, None)
        for end in [one for one in self.ends if one.name == name and one.is_open]:
            for _ in range(len(end.under_way) - keeps(len(end.under_way))):
                end.under_way.pop()
            end.end()
        self.ends = [one for one in self.ends if one.is_open or one.under_way]


@define
class Listener:
    """The port of a host, as a server and as its socket."""

    loop: VirtualLoop
    name: str
    factory: Callable[[], asyncio.BaseProtocol]

    @property
    def sockets(self) -> list[Listener]:
        return [self]

    def getsockname(self) -> tuple[str, int]:
        return self.name, 2

    async def start_serving(self) -> None:
        self.loop.listening[self.name] = self.factory

    def close(self) -> None:
        self.loop.listening.pop(self.name, None)


@define(eq=False)
class End(asyncio.Transport):
    """One end of a connection.  `under_way`: sent and not yet arrived; None is the end."""

    loop: VirtualLoop
    name: str
    protocol: asyncio.BaseProtocol
    latency: float
    other: End | None = None
    under_way: deque[bytes | None] = field(factory=deque)
    is_open: bool = True

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._send(bytes(data))

    def get_write_buffer_size(self) -> int:
        return sum(len(one or b"") for one in self.under_way)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.name, 2) if name == "peername" else default

    def is_closing(self) -> bool:
        return not self.is_open

    def pause_reading(self) -> None:
        """Do nothing: a host here always reads all data."""

    resume_reading = pause_reading

    def abort(self) -> None:
        if self.is_open:
            self.end()
            self.loop.call_soon(self.protocol.connection_lost, None)

    close = abort

    def end(self) -> None:
        """Close this end; the other end notices it later."""
        self._send(None)
        self.is_open = False

    def _send(self, data: bytes | None) -> None:
        if self.is_open:
            self.under_way.append(data)
            self.loop.call_later(self.latency, self.arrive)

    def arrive(self) -> None:
        """Deliver the oldest piece under way, unless a host is cut off."""
        other = self.other
        assert other is not None
        if not self.under_way or self.loop.apart & {self.name, other.name}:
            return
        data = self.under_way.popleft()
        if other.is_open and data is not None:
            _hand_over(other.protocol, data)
        elif other.is_open:
            other.is_open = False
            other.protocol.connection_lost(None)


def _hand_over(protocol: asyncio.BaseProtocol, data: bytes) -> None:
    if isinstance(protocol, asyncio.Protocol):
        protocol.data_received(data)
        return
    assert isinstance(protocol, asyncio.BufferedProtocol)
    while data:
        buffer = memoryview(protocol.get_buffer(len(data)))
        some = data[: len(buffer)]
        buffer[: len(some)] = some
        protocol.buffer_updated(len(some))
        data = data[len(some) :]


@define
class SlowDisk:
    """A worker (`performing.py`) whose work takes `seconds()` of virtual time."""

    loop: VirtualLoop
    seconds: Callable[[], float]
    is_open: bool = True

    def do(self, work: Callable[[], object], done: Done) -> None:
        self.loop.call_later(self.seconds(), self._end, work, done)

    def _end(self, work: Callable[[], object], done: Done) -> None:
        if self.is_open:
            InlineWorker().do(work, done)
