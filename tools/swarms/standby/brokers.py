"""Shipped brokers in virtual time, on disks that lose unsynced data."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, evolve, field

from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.shortening import clear
from joinproto.apps.standby.managing import Manager
from joinproto.apps.standby.performing import Done
from joinproto.apps.standby.process import TICK_SECONDS
from joinproto.apps.standby.queues import Held
from joinproto.apps.standby.reporting import status_of
from joinproto.apps.standby.settings import BrokerFile, Settings, Timing, settings_of
from joinproto.host.eventlog import NoLog
from joinproto.standby.events import Effect, Event, Tick
from joinproto.standby.messages import View
from joinproto.swarm.disk import Disk as MemoryDisk
from tools.swarms.chain import Chain
from tools.swarms.loop import VirtualLoop
from tools.swarms.standby.oracle import Oracle, SentMessage, Violation
from tools.swarms.standby.scenario import Scenario

TOP = Path("/")
LOOKS = 0.1
"""The share of confirmations after which the disks of the view's brokers are read."""


class PowerLost(Exception):
    """The power was lost during a write."""


@define(eq=False)
class CountingBroker(Core):
    """A broker that counts the steps of its machine; `ticks`: the steps of the clock."""

    steps: int = 0
    ticks: int = 0

    def do(self, event: Event) -> tuple[Effect, ...]:
        self.steps += 1
        self.ticks += isinstance(event, Tick)
        return super().do(event)


@define(eq=False)
class Worker:
    """Does blocking work after some virtual time, unless the broker has ended."""

    brokers: Brokers
    name: str
    is_open: bool = True

    def do(self, work: Callable[[], object], done: Done) -> None:
        if seconds := self.brokers.write_seconds(self.name):
            self.brokers.loop.call_later(seconds, self._do, work, done)
        else:
            self._do(work, done)

    def _do(self, work: Callable[[], object], done: Done) -> None:
        if not self.is_open:
            return
        try:
            work()
        except PowerLost:
            self.brokers.cut_power(self.name)
        except Exception as error:  # noqa: BLE001  passed to the caller
            done(error)
        else:
            done(None)


def generation_of(core: Core) -> int:
    """Return the generation in a broker's status."""
    return int(status_of(core)["generation"])


def on_disk(brokers: Brokers, name: str) -> set[int]:
    """Return the messages that a broker would have if its power failed now."""
    files = brokers.disks[name]
    of_run, files.chance = files.chance, brokers.looks
    try:
        after = files.copied(lambda: False)
    finally:
        files.chance = of_run
    with open_disk(Path(f"/{name}"), name, files=after, frames_on=after) as disk:
        return {int(put.body) for queue in disk.queues.values() for put in queue.in_order}


@define(eq=False)
class TakingClient:
    """A client with credit for some messages; `settles`: whether it acknowledges them at once."""

    brokers: Brokers
    core: Core
    queue: str
    credit: int
    settles: bool = True
    held: list[Held] = field(factory=list)

    def send(self, held: Held) -> None:
        self.credit -= 1
        number = int(held.body)
        oracle, core = self.brokers.oracle, self.core
        oracle.note_delivery(self.queue, number, generation_of(core), marked=held.is_redelivered)
        self.held.append(held)
        if self.settles:
            core.clients.take(
                self.queue, held, lambda: oracle.note_acknowledged(number, generation_of(core))
            )


@define(eq=False)
class Brokers:
    """All brokers of one run.  `steps`, `ticks`: counts of the brokers that have ended.

    `last`: the newest view that a primary had.  `promoting`: brokers whose promotion is under way.
    """

    scenario: Scenario
    loop: VirtualLoop
    oracle: Oracle = field(factory=Oracle)
    cores: dict[str, CountingBroker] = field(factory=dict)
    disks: dict[str, Any] = field(factory=dict)
    slow: dict[str, float] = field(factory=dict)
    steps: int = 0
    ticks: int = 0
    last: View = View()
    promoting: set[str] = field(factory=set)
    failures: list[BaseException] = field(factory=list)
    chance: Random = field(init=False)
    looks: Random = field(init=False)  # its draws do not change the run
    chain: Chain = field(init=False)
    _tasks: dict[str, list[asyncio.Task[None]]] = field(factory=dict)
    _clients: set[asyncio.Task[object]] = field(factory=set)
    _sent: int = 0

    def __attrs_post_init__(self) -> None:
        self.chance = Random(f"run {self.scenario.seed}")
        self.looks = Random(f"looks {self.scenario.seed}")
        self.chain = Chain(self.loop, self.scenario.names, self.chance)
        for name in self.scenario.names:
            self.disks[name] = MemoryDisk(self.chance)

    # -- processes ---------------------------------------------------------------------------

    def settings(self, name: str) -> Settings:
        names, scenario = self.scenario.names, self.scenario
        built_in: dict[str, Any] = {}
        if scenario.built_in:
            built_in = {
                "manager": "built-in",
                "chain": {each: f"{each}:3" for each in names},
                "total_failure": "continue" if scenario.continues else "wait",
            }
        file = BrokerFile(
            broker=name,
            cluster="swarm",
            data=name,
            clients="127.0.0.1:1",
            brokers={each: f"{name}-{each}:2" if each != name else f"{name}:2" for each in names},
            insecure=["peers", "chain"] if scenario.built_in else ["peers"],
            timing=Timing(backups=2.0, retry=0.1),
            **built_in,
        )
        return settings_of(file, TOP)

    async def start(self, name: str) -> None:
        if name in self.cores:
            return
        settings, files = self.settings(name), self.disks[name]
        names = sorted(self.scenario.names)
        try:
            disk = open_disk(
                settings.data, name, cluster="swarm", brokers=names, files=files, frames_on=files
            )
            clear(disk.journal)
        except PowerLost:
            self._lose(name, power=True)
            return
        core = self.cores[name] = CountingBroker(settings, disk, NoLog(), Worker(self, name))
        if self.scenario.built_in:
            core.manager = Manager(core)
            self.chain.begin(name, core.manager)
        core.start()
        peers, ticks = core.links.peers.run(), self._tick(core)
        self._tasks[name] = [self.loop.create_task(peers), self.loop.create_task(ticks)]

    async def _tick(self, core: Core) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            core.tick()

    def write_seconds(self, name: str) -> float:
        return self.slow.get(name, 0.0) + self.chance.random() * self.scenario.latency

    def promote(self, name: str) -> None:
        """Promote a broker, without waiting for its answer."""
        core = self.cores[name]

        async def promote_and_wait() -> None:
            await core.promote()
            if self.cores.get(name) is core:
                self.promoting.discard(name)

        self.promoting.add(name)
        self.run_task(promote_and_wait())

    def cut_power(self, name: str) -> None:
        """Cut a broker's power now, if it runs."""
        if name in self.cores:
            self.kill(name, power=True)

    def kill(self, name: str, *, power: bool = False) -> None:
        """End a broker as SIGKILL does, or with `power` as a power cut does."""
        self.observe()
        core = self.cores.pop(name)
        self.promoting.discard(name)
        self.steps, self.ticks = self.steps + core.steps, self.ticks + core.ticks
        core.ended.set()
        core._turn_is_due = True  # so that no turn is scheduled any more
        assert isinstance(core.worker, Worker)
        core.worker.is_open = False
        self.chain.end(name)
        self.loop.kill(name, keeps=lambda most: self.chance.randint(0, most))
        for task in self._tasks.pop(name, ()):
            task.cancel()
        self._lose(name, power=power)

    def _lose(self, name: str, *, power: bool) -> None:
        files = self.disks[name]
        files.before = lambda _: None
        if power:
            self.disks[name] = files.copied(lambda: self.chance.random() < 0.5)
        else:
            files.process_ends()

    def cut_power_within(self, name: str, calls: int) -> None:
        """Cut a broker's power after this many calls of its disk."""
        left = calls

        def before(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise PowerLost

        self.disks[name].before = before

    async def stop(self, name: str) -> None:
        """Stop a broker as SIGTERM does."""
        core = self.cores[name]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(core.stop(), 60)
        if self.cores.get(name) is core:
            self.kill(name)

    async def begin_anew(self) -> None:
        """Start all brokers anew with empty directories."""
        for name in [*self.cores]:
            self.kill(name)
        self.chain.frames.clear()
        for name in self.scenario.names:
            self.disks[name] = MemoryDisk(self.chance)
            await self.start(name)

    async def mark(self, name: str) -> None:
        """Mark a store clean, as an operator does after a total failure."""
        if name in self.cores:
            await self.stop(name)
        files = self.disks[name]
        with open_disk(Path(f"/{name}"), name, files=files, frames_on=files) as disk:
            disk.write(evolve(disk.kept, clean=True))
        files.process_ends()

    def run_task(self, work: Coroutine[Any, Any, object]) -> None:
        """Run work as a task; its error is added to `failures`."""
        task = self.loop.create_task(work)
        self._clients.add(task)

        def done(_: object) -> None:
            self._clients.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.failures.append(error)

        task.add_done_callback(done)

    # -- status -----------------------------------------------------------------------------

    def observe(self) -> None:
        """Remember the newest view of a primary, which a manager outside uses."""
        for core in self.cores.values():
            # `shown` is on the disk: a promotion that is not on the disk does not count.
            if core.shown.serves and core.shown.view.age >= self.last.age:
                self.last = core.shown.view

    def promotable(self) -> tuple[str, ...]:
        """Return the brokers that a manager outside may promote: members of the newest view."""
        views = [self.last, *(core.shown.view for core in self.cores.values())]
        return max(views, key=lambda view: view.age).members

    def check(self) -> None:
        """Raise `Violation` if a broker has ended by itself, or a task has failed."""
        for name, core in self.cores.items():
            if isinstance(core.failure, Violation):
                raise core.failure
            if core.failure is not None and not isinstance(core.failure, PowerLost):
                raise Violation("no error", f"{name}: {core.failure!r}")
        if self.failures:
            failure = self.failures[0]
            if isinstance(failure, Violation):
                raise failure
            raise Violation("no error", repr(failure)) from failure

    def status(self, name: str) -> Mapping[str, Any]:
        return status_of(self.cores[name])

    def serving(self) -> list[str]:
        """Return the brokers that admit clients."""
        return [name for name, core in self.cores.items() if core.clients.refusal() is None]

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until `holds` returns True, for at most `seconds`; return its last result."""
        end = self.loop.time() + seconds
        while not holds() and self.loop.time() < end:
            await asyncio.sleep(TICK_SECONDS)
            self.chain.check_links()
            self.observe()
            self.check()
        return holds()

    # -- clients -----------------------------------------------------------------------------

    def client(self, near: str) -> Core | None:
        """Return the broker that a client finds: `near` if it serves, else any that serves."""
        there = self.serving()
        if not there:
            return None
        return self.cores[near if near in there else self.chance.choice(sorted(there))]

    def publish(self, near: str, count: int) -> None:
        """Send `count` messages to a queue, which is created if it does not exist."""
        core, queue = self.client(near), self.chance.choice("qr")
        if core is None:
            return
        durable = self.chance.random() < 0.8

        def ready(found: object) -> None:
            if isinstance(found, str):
                return
            for _ in range(count):
                self._put(core, queue, durable)

        core.clients.queue(queue, ready)

    def _put(self, core: Core, queue: str, durable: bool) -> None:
        self._sent += 1
        number = self._sent
        self.oracle.sent[number] = SentMessage(queue, durable)
        body = str(number).encode()
        core.clients.publish(queue, body, durable, self._confirmed(core, [number]))

    def _confirmed(self, core: Core, numbers: list[int]) -> Callable[[str], None]:
        def done(problem: str) -> None:
            if not problem:
                name = core.settings.broker
                self.oracle.note_confirmed(name, generation_of(core), numbers)
                for other in core.kept.view.members if self.looks.random() < LOOKS else ():
                    self.oracle.check_kept(other, numbers, on_disk(self, other))

        return done

    def take(self, near: str, count: int) -> None:
        """Take up to `count` messages from a queue."""
        core, queue = self.client(near), self.chance.choice("qr")
        if core is None or queue not in core.clients.live:
            return
        live = core.clients.live[queue]
        taker = TakingClient(self, core, queue, min(count, len(live)))
        live.add(taker)
        live.remove(taker)

    def transact(self, near: str, count: int) -> None:
        """Put `count` messages into each queue and take one from q, in one transaction."""
        core = self.client(near)
        if core is None or not {"q", "r"} <= core.clients.live.keys():
            return
        live = core.clients.live["q"]
        taker = TakingClient(self, core, "q", min(1, len(live)), settles=False)
        live.add(taker)
        live.remove(taker)
        numbers = [self._sent + 1 + at for at in range(2 * count)]
        self._sent += len(numbers)
        puts = []
        for at, number in enumerate(numbers):
            queue = "qr"[at % 2]
            self.oracle.sent[number] = SentMessage(queue, True, frozenset(numbers))
            puts.append((queue, str(number).encode(), True))
        confirmed = self._confirmed(core, numbers)

        def done(problem: str) -> None:
            confirmed(problem)
            for held in taker.held:
                if not problem:
                    self.oracle.note_acknowledged(int(held.body), generation_of(core))

        core.clients.commit_whole(puts, [("q", held) for held in taker.held], done)

    def contents(self, name: str) -> dict[str, list[int]]:
        """Return the messages in a broker's queues, from the front to the back."""
        queues = self.cores[name].bodies.queues
        return {queue: [int(put.body) for put in one.in_order] for queue, one in queues.items()}
