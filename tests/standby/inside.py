"""Brokers in this process: their time is virtual, and what lies between them is memory.

All that a broker does above its sockets is what it does as a process, and its store is on the disk.
Only the AMQP port is missing: clients speak to what stands behind it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from selectors import SelectorKey, SelectSelector
from typing import Any, TypeAlias

from attrs import define, field

from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.shortening import clear
from joinproto.apps.standby.performing import AtOnce, Done
from joinproto.apps.standby.process import TICK_SECONDS
from joinproto.apps.standby.queues import Held
from joinproto.apps.standby.settings import BrokerFile, Timing, settings_of
from joinproto.apps.standby.telling import status_of
from joinproto.host.eventlog import NoLog
from joinproto.standby.broker import Role

Delivered: TypeAlias = list[tuple[str, bool]]
"""Of each message its body, and whether it is marked as delivered before."""

SECONDS = 60.0
"""So long, of virtual time, is waited for anything."""
TURNS_MAX = 10_000
"""The event loop has no more turns without time going on."""


class Jumps(SelectSelector):
    """Waits for nothing: the time that would pass is added to `now`."""

    now = 0.0
    turns = 0  # at this time

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        assert timeout is not None, "nothing will ever happen any more"
        self.turns = 0 if timeout > 0 else self.turns + 1
        assert self.turns < TURNS_MAX, "time stands still"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with its own time and its own network.

    A host is called at CALLER-NAME and listens at NAME.  `apart`: nothing reaches these or comes
    from them; what they have sent waits.
    """

    def __init__(self) -> None:
        self.jumps = Jumps()
        self.listening: dict[str, Callable[[], asyncio.BaseProtocol]] = {}
        self.ends: list[End] = []
        self.apart: set[str] = set()
        super().__init__(self.jumps)

    def time(self) -> float:
        return self.jumps.now

    async def create_server(  # type: ignore[override]
        self, factory: Any, host: Any, _: Any, **more: Any
    ) -> Any:
        return Listening(self, host, factory)

    async def create_connection(  # type: ignore[override]
        self, factory: Any, host: Any, _: Any = None, **more: Any
    ) -> Any:
        names = host.split("-")
        if names[1] not in self.listening or self.apart & {*names}:
            raise ConnectionRefusedError(host)
        # Not all backups have the same when a primary is killed.
        latency = 0.001 * (1 + len(self.ends) % 3)
        one = End(self, names[0], factory(), latency)
        other = End(self, names[1], self.listening[names[1]](), latency, one)
        one.other = other
        for end in (one, other):
            self.ends.append(end)
            end.protocol.connection_made(end)
        return one, one.protocol

    def heal(self) -> None:
        """Let everything through, also what waits."""
        self.apart.clear()
        for end in self.ends:
            for _ in range(len(end.under_way)):
                end.arrive()

    def kill(self, name: str) -> None:
        """End all connections of a host: what it ran is not told, what is under way is lost."""
        self.listening.pop(name, None)
        for end in [one for one in self.ends if one.name == name and one.is_open]:
            end.under_way.clear()
            end.end()


@define
class Listening:
    """The port of a host; `sockets` is what asks for its number finds."""

    loop: VirtualLoop
    name: str
    factory: Callable[[], asyncio.BaseProtocol]

    @property
    def sockets(self) -> list[Listening]:
        return [self]

    def getsockname(self) -> tuple[str, int]:
        return self.name, 2

    async def start_serving(self) -> None:
        self.loop.listening[self.name] = self.factory

    def close(self) -> None:
        self.loop.listening.pop(self.name, None)


@define(eq=False)
class End(asyncio.Transport):
    """One end of a connection.  `under_way`: what it has sent; None: that it has ended."""

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
        """Whoever is called here takes all that comes."""

    resume_reading = pause_reading

    def abort(self) -> None:
        if self.is_open:
            self.end()
            self.loop.call_soon(self.protocol.connection_lost, None)

    close = abort

    def end(self) -> None:
        """Send no more, and have the other end see it."""
        self._send(None)
        self.is_open = False

    def _send(self, data: bytes | None) -> None:
        if self.is_open:
            self.under_way.append(data)
            self.loop.call_later(self.latency, self.arrive)

    def arrive(self) -> None:
        """Have come what was sent first of what is under way, if it can."""
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
        room = memoryview(protocol.get_buffer(len(data)))
        some = data[: len(room)]
        room[: len(some)] = some
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
            AtOnce().do(work, done)


@define
class Taker:
    """A client with credit for `credit` messages."""

    core: Core
    queue: str
    credit: int
    delivered: Delivered
    done: asyncio.Event = field(factory=asyncio.Event)
    _unsettled: int = 0

    def send(self, held: Held) -> None:
        self.credit -= 1
        self._unsettled += 1
        self.delivered.append((held.body.decode(), held.is_redelivered))
        self.core.clients.take(self.queue, held, self._done)

    def _done(self) -> None:
        self._unsettled -= 1
        if not self.credit + self._unsettled:
            self.done.set()


@define(eq=False)
class Inside:
    """Brokers with these names, whose stores lie under `top`."""

    top: Path
    names: str
    loop: VirtualLoop
    more: Mapping[str, Any] = field(factory=dict)  # of each broker's file
    sync: Callable[[], float] | None = None  # seconds that a disk takes; None: no time
    cores: dict[str, Core] = field(factory=dict)
    _tasks: dict[str, list[asyncio.Task[None]]] = field(factory=dict)

    async def start(self, *names: str) -> None:
        for name in names or self.names:
            places = {each: f"{name}-{each}:2" for each in self.names} | {name: f"{name}:2"}
            file = BrokerFile(
                broker=name,
                cluster="storm",
                data=name,
                clients="127.0.0.1:1",
                brokers=places,
                insecure=["peers"],
                timing=Timing(backups=2.0, retry=0.1),
                **self.more,
            )
            settings = settings_of(file, self.top)
            disk = open_disk(settings.data, name, cluster="storm", brokers=sorted(places))
            clear(disk.journal)
            worker = AtOnce() if self.sync is None else SlowDisk(self.loop, self.sync)
            core = self.cores[name] = Core(settings, disk, NoLog(), worker)
            core.start()
            peers, ticks = core.links.peers.run(), _tick(core)
            self._tasks[name] = [self.loop.create_task(peers), self.loop.create_task(ticks)]

    async def kill(self, name: str, *, orderly: bool = False) -> None:
        """End a broker, as kill -9 does, or in order."""
        core = self.cores.pop(name)
        assert core.failure is None
        if orderly:
            await core.stop()
        core.ended.set()
        self.loop.kill(name)
        for task in self._tasks.pop(name):
            task.cancel()
        await asyncio.sleep(0)  # what was due finds that it has ended
        core._turn_is_due = True  # nothing is due any more
        if isinstance(core.worker, SlowDisk):
            core.worker.is_open = False
        core.disk.close()

    async def promote(self, *names: str) -> str:
        """Promote the first that takes it; return its name, "" for none."""
        for name in names:
            if (await self.cores[name].promote())["verdict"] == "accepted":
                return name
        return ""

    def status(self, name: str) -> Mapping[str, Any]:
        return status_of(self.cores[name])

    async def until(self, holds: Callable[[], bool], seconds: float = SECONDS) -> bool:
        """Wait until it holds; return whether it does."""
        for _ in range(round(seconds / TICK_SECONDS)):
            if holds():
                return True
            await asyncio.sleep(TICK_SECONDS)
        return holds()

    async def until_role(self, name: str, role: Role, seconds: float = SECONDS) -> bool:
        return await self.until(lambda: self.cores[name].role is role, seconds)

    async def until_in_view(self, primary: str, names: str) -> bool:
        return await self.until(lambda: self.status(primary)["up_to_date"] == [*names])

    async def pair(self) -> None:
        """Start `a` and `b`: a primary, and a backup that is up to date."""
        await self.start()
        assert "a" == await self.promote("a")
        assert await self.until_in_view("a", "ab")

    async def publish(
        self, name: str, *bodies: str, queue: str = "q", durable: bool = True
    ) -> None:
        """Publish messages; each is confirmed when this returns."""
        clients = self.cores[name].clients
        found = await _answer(lambda done: clients.queue(queue, done))
        assert not isinstance(found, str), found
        asked = [partial(clients.publish, queue, body.encode(), durable) for body in bodies]
        assert {""} == {*await asyncio.gather(*map(_answer, asked))}

    async def consume(
        self, name: str, count: int, *, queue: str = "q", into: Delivered | None = None
    ) -> Delivered:
        """Take messages: of each its body, and whether it is marked as delivered before.

        `into`: has each at once, also where this is cancelled.
        """
        core = self.cores[name]
        taker = Taker(core, queue, count, [] if into is None else into)
        core.clients.live[queue].add(taker)
        if count:
            await asyncio.wait_for(taker.done.wait(), SECONDS)
        return taker.delivered


def play(
    top: Path,
    names: str,
    story: Callable[[Inside], Awaitable[None]],
    *,
    sync: Callable[[], float] | None = None,
    **more: Any,
) -> None:
    """Let a story happen; what fails in any callback or task fails the test.

    `sync`: how many seconds a disk takes.  `more`: what else stands in the file of each broker.
    """
    failures: list[Any] = []

    async def told() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.set_exception_handler(lambda _, context: failures.append(context))
        brokers = Inside(top, names, loop, more, sync)
        try:
            await story(brokers)
        finally:
            for name in [*brokers.cores]:
                await brokers.kill(name)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(told())
    assert [] == failures


def _answer(ask: Callable[[Callable[[Any], None]], None]) -> Awaitable[Any]:
    """Return what is answered, within virtual time."""
    answered = asyncio.get_running_loop().create_future()
    ask(lambda found: None if answered.done() else answered.set_result(found))
    return asyncio.wait_for(answered, SECONDS)


async def _tick(core: Core) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        core.tick()
