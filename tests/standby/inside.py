"""Brokers in this process: their time is virtual, and the links between them are in memory.

Above its sockets a broker does the same as in its own process, and its store is on the disk.  Only
the AMQP port is missing: clients call the code behind it.  (`tools/swarms` has such brokers in
random orders, with disks that lose writes that were not synced.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, field

from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.shortening import clear
from joinproto.apps.standby.performing import InlineWorker
from joinproto.apps.standby.process import TICK_SECONDS
from joinproto.apps.standby.queues import Held
from joinproto.apps.standby.reporting import status_of
from joinproto.apps.standby.settings import BrokerFile, Timing, settings_of
from joinproto.host.eventlog import NoLog
from joinproto.standby.broker import Role
from tools.swarms.loop import SlowDisk, VirtualLoop

Delivered: TypeAlias = list[tuple[str, bool]]
"""The body of each message, and whether it is marked as delivered before."""

SECONDS = 60.0
"""Seconds of virtual time that a wait may take."""


@define
class Consumer:
    """A client of one queue.  `credit`: how many more messages it takes."""

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
class LocalBrokers:
    """Brokers with these names, whose stores are below `top`."""

    top: Path
    names: str
    loop: VirtualLoop
    more: Mapping[str, Any] = field(factory=dict)  # of each broker's file
    sync: Callable[[], float] | None = None  # seconds that a disk takes; None if no time
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
            worker = InlineWorker() if self.sync is None else SlowDisk(self.loop, self.sync)
            core = self.cores[name] = Core(settings, disk, NoLog(), worker)
            core.start()
            peers, ticks = core.links.peers.run(), _tick(core)
            self._tasks[name] = [self.loop.create_task(peers), self.loop.create_task(ticks)]

    async def kill(self, name: str, *, orderly: bool = False) -> None:
        """End a broker, as kill -9 does, or with an orderly stop."""
        core = self.cores.pop(name)
        assert core.failure is None
        if orderly:
            await core.stop()
        core.ended.set()
        self.loop.kill(name)
        for task in self._tasks.pop(name):
            task.cancel()
        await asyncio.sleep(0)  # let due callbacks see that the broker has ended
        core._turn_is_due = True  # no further turn is scheduled
        if isinstance(core.worker, SlowDisk):
            core.worker.is_open = False
        core.disk.close()

    async def promote(self, *names: str) -> str:
        """Promote the first broker that accepts; return its name, or "" if no broker accepts."""
        for name in names:
            if (await self.cores[name].promote())["verdict"] == "accepted":
                return name
        return ""

    def status(self, name: str) -> Mapping[str, Any]:
        return status_of(self.cores[name])

    async def until(self, holds: Callable[[], bool], seconds: float = SECONDS) -> bool:
        """Wait until the condition holds, for `seconds` at most; return whether it does."""
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
        """Take messages; return the body of each, and whether it is marked as delivered before.

        `into`: gets each message at once, even if this call is cancelled.
        """
        core = self.cores[name]
        consumer = Consumer(core, queue, count, [] if into is None else into)
        core.clients.live[queue].add(consumer)
        if count:
            await asyncio.wait_for(consumer.done.wait(), SECONDS)
        return consumer.delivered


def play(
    top: Path,
    names: str,
    story: Callable[[LocalBrokers], Awaitable[None]],
    *,
    sync: Callable[[], float] | None = None,
    **more: Any,
) -> None:
    """Run a story; an error in any callback or task fails the test.

    `sync`: how many seconds a disk takes.  `more`: further lines in the file of each broker.
    """
    failures: list[Any] = []

    async def run_story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.set_exception_handler(lambda _, context: failures.append(context))
        brokers = LocalBrokers(top, names, loop, more, sync)
        try:
            await story(brokers)
        finally:
            for name in [*brokers.cores]:
                await brokers.kill(name)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run_story())
    assert [] == failures


def _answer(ask: Callable[[Callable[[Any], None]], None]) -> Awaitable[Any]:
    """Return the answer, within virtual time."""
    answered = asyncio.get_running_loop().create_future()
    ask(lambda found: None if answered.done() else answered.set_result(found))
    return asyncio.wait_for(answered, SECONDS)


async def _tick(core: Core) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        core.tick()
