"""The host of a node: real time, disk, network and service around the steps of `coordinator`.

One event after the other; what a step asks for is done in its order, and what stands behind a stop
or a wipe waits for it.  A boot alone is under way while the node goes on.

    kill -9 before the config is stored     the data are given up already: they are wiped at the
                                            next start, and the node joins with what it had stored
    kill -9 after that, before the boot     the same, with the new config

Source: Clusterer, U1 to U7; the real coordinator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from itertools import count
from typing import Any

from attrs import Factory, define, field, frozen

from joinproto.apps.clusterer.keeping.members import Members
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.clusterer.memory import Memory
from joinproto.apps.clusterer.network import Network, Timing
from joinproto.apps.clusterer.peering import Peering, running_of, said_by
from joinproto.apps.clusterer.service import (
    Booting,
    Holder,
    NotFirst,
    Service,
    ServiceFailed,
    ServiceStatus,
    holdings,
    look,
)
from joinproto.apps.clusterer.wire import AskService, ServiceTold
from joinproto.clusterer import coordinator
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import (
    Answer,
    Apply,
    Arm,
    AskAwaited,
    AskLock,
    AskStatus,
    Boot,
    BootBroker,
    Booted,
    BootFailed,
    Down,
    Keep,
    Off,
    Paused,
    Poke,
    Receive,
    Reply,
    Send,
    Silence,
    Start,
    StopBroker,
    Tick,
    TimeUp,
    Wipe,
)
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto.host.eventlog import EventLog

log = logging.getLogger("joinproto.clusterer")

FORGET_TRIES = 20


@frozen
class Stopped:
    """The operator wants the node's process to end."""

    why: str


@frozen
class Died:
    """The service does not run any more, and nobody here stopped it."""

    why: str


@frozen
class Broke:
    """Something of the node's own has ended that must not: its clock, or a boot."""

    error: BaseException


@frozen
class Asked:
    """An operator's config, and where its answer goes; None: it is not valid.

    `is_gone`: the operator waits no more, so that nothing is to be done: he has been told so.
    """

    config: Config | None
    answer: asyncio.Future[Reply]
    is_gone: Callable[[], bool]


@define
class Host:
    """One node.  `fresh`: its identity if it is blank.  `ended`: why it has ended.

    `note`: what an operator should know before it boots.
    `begun`: a boot was begun, so something of the service may be there; `runs`: it succeeded.
    """

    who: Who
    stored: StoredConfig
    memory: Memory
    service: Service
    timing: Timing
    events: EventLog
    fresh: str
    given: Config | None = None
    state: State = field(init=False)
    network: Network = field(init=False)
    ended: str | None = None
    failure: str = ""
    note: str = ""
    runs: bool = False
    begun: bool = False
    peering: Peering = field(init=False)
    _inbox: asyncio.Queue[Any] = Factory(asyncio.Queue)
    _tokens: count[int] = Factory(lambda: count(1))
    _timer: asyncio.TimerHandle | None = None
    _boot: asyncio.Task[None] | None = None
    _answer: asyncio.Future[Reply] | None = None
    _lets_go: float = 0.0
    _one_at_a_time: asyncio.Lock = Factory(asyncio.Lock)
    _forgetting: asyncio.Task[None] | None = None

    def __attrs_post_init__(self) -> None:
        self.state = State(who=self.who)

    def post(self, event: Any) -> None:
        """Give the node something to do, after all that came before."""
        self._inbox.put_nowait(event)

    async def run(self) -> None:
        """Run until the node has ended; raises `StoreError` of the disk, `ServiceFailed` of a
        service that cannot be stopped or wiped."""
        kept = self.stored.load()
        self.memory.load()
        self.note = _doubt(self.memory, self.service, self.events)
        # A node that was killed may have left its service running.
        await self._service("stop", lambda: self.service.stop(leaves=False))
        if self.memory.now.given_up:
            await self._service("wipe", self.service.wipe)
        record = self.memory.with_stored(kept)
        clock = _watched(self.post, self._clock())
        try:
            await self._step(Start(record=record, given=self.given, fresh=self.fresh))
            while self.ended is None:
                await self._turn(await self._inbox.get())
        finally:
            clock.cancel()
            if self._timer is not None:
                self._timer.cancel()
            if self._boot is not None:
                await asyncio.gather(self._boot, return_exceptions=True)
            if self._forgetting is not None:
                self._forgetting.cancel()
            if self.begun:
                await self._stop(leaves=False)
            await self._call(self.service.end)

    async def _turn(self, event: Any) -> None:
        match event:
            case Broke(error):
                raise error
            case Stopped(why):
                self.ended = why
            case Died(why):
                raise ServiceFailed(
                    why, next="start the node again: it comes back as after a crash"
                )
            case Asked(_, answer, is_gone) if is_gone():
                log.warning("a config is not taken: who gave it has gone meanwhile")
                answer.set_result(Reply.NOT_NOW)
            case Asked(config, answer):
                self._answer = answer
                await self._step(Apply(config))
                if not answer.done():
                    answer.set_result(Reply.NOT_NOW)
            case Receive(sender, AskService(number)):
                says = await self.says() if self.serves or not self.begun else {}
                told = ServiceTold(number, self.serves, self._version(), says)
                self.network.send(sender, told)
            case Receive(_, ServiceTold()):
                self.peering.told(event.sender, event.content.number, event.content)
            case _:
                if self.runs or self.memory.boots is not None:
                    self.memory.saw(event, self.state.config_now.config)
                await self._step(event)

    @property
    def serves(self) -> bool:
        """Say whether others can join this node's service."""
        return self.runs and self.state.says is Status.READY

    def _version(self) -> int:
        return -1 if self.state.held is None else self.state.held.config.version

    async def says(self) -> Mapping[str, str]:
        """Return what the service says of itself or, before a boot, of what lies on its disk."""
        try:
            if not self.begun:
                return dict(await self._call(partial(holdings, self.service)))
            found: ServiceStatus = await self._call(self.service.status)
        except ServiceFailed as error:
            log.warning("status: %s", error.message)
            return {}
        return found.says

    # -- a step ------------------------------------------------------------------------------

    async def _step(self, event: Any) -> None:
        before = self.state
        step = coordinator.step(before, event)
        self.state = after = step.state
        if after.status is not before.status or _version_of(after) != _version_of(before):
            log.info("%s, version %s: %s", after.status.value, self._version(), after.why.case)
            self.events.write(
                "status",
                status=after.status.value,
                version=self._version(),
                rule=after.why.rule,
                case=after.why.case,
            )
        elif after.waits_for != before.waits_for and after.waits_for:
            log.info("waits for %s: %s", ", ".join(sorted(after.waits_for)), after.why.case)
        if any(isinstance(one, Wipe) for one in step.effects):
            self.memory.keep(Members(given_up=True))
        leaves = after.held is not None and self.who.me not in after.held.config.nodes
        for effect in step.effects:
            await self._perform(effect, leaves=leaves)

    async def _perform(self, effect: Any, *, leaves: bool) -> None:
        match effect:
            case Send(to, content):
                self.network.send(to, content)
            case Keep(held, identity):
                self.stored.keep(held, identity)
                self.events.write("stored", version=held.config.version, identity=identity)
                if self.runs:
                    await self._changed(held.config)
            case Wipe():
                await self._service("wipe", self.service.wipe)
            case StopBroker():
                await self._stop(leaves=leaves)
            case BootBroker():
                self._boot = _watched(self.post, self._booting(effect))
            case Arm(seconds, number):
                self._arm(seconds, number)
            case Answer(reply):
                if self._answer is not None and not self._answer.done():
                    self._answer.set_result(reply)
            case Off(why):
                log.warning("ends: %s", why)
                self.ended = why

    async def _changed(self, config: Config) -> None:
        """Forget who the config does without; adopted in silence, the service runs on."""
        left = self.memory.only(config.nodes)
        # One is enough to strike them from the service's own list.
        if left and self.who.me == min(self.memory.now.ran, default=self.who.me):
            self._forgetting = _watched(self.post, self._forget(left))

    async def _forget(self, left: frozenset[str]) -> None:
        """Have the service forget who was left out; that may have to wait until those are off."""
        for _ in range(FORGET_TRIES):
            try:
                await self._call(lambda: self.service.forget(left))
                self.events.write("forgot", nodes=sorted(left))
                return
            except ServiceFailed as error:
                log.info("%s is not forgotten yet: %s", ", ".join(sorted(left)), error.message)
            await asyncio.sleep(self.timing.retry)
            if not self.runs:
                return

    def _arm(self, seconds: int | None, number: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self.post, TimeUp(number))

    # -- the service -------------------------------------------------------------------------

    async def _call(self, do: Callable[[], Any]) -> Any:
        async with self._one_at_a_time:
            return await asyncio.to_thread(do)

    async def _service(self, what: str, do: Callable[[], None]) -> None:
        self.events.write(what)
        await self._call(do)
        self.events.write(f"{what}, done")

    async def _stop(self, *, leaves: bool) -> None:
        self.runs = False  # from here on who ran stays as it is
        ran = self.begun
        await self._service("stop", lambda: self.service.stop(leaves=leaves))
        self.begun = False
        if ran:
            self.memory.stopped()

    async def _booting(self, boot: BootBroker) -> None:
        """Boot the service; what comes of it is an event like others."""
        config = self.state.config_now.config
        others = config.nodes - {self.who.me}
        # Who becomes ready meanwhile says so once: missed, he would not count as one that ran.
        self.memory.boots = set()
        told = await self.peering.ask(others, self.timing.silence)
        running = running_of(told, config.version)
        self.memory.boots |= set(running)
        booting = _booting(boot, config, running, frozenset(self.memory.now.members))
        self.events.write("boot", how=boot.how.value, running=sorted(running))
        try:
            if boot.how is Boot.FIRST:
                went = others.intersection(self.memory.now.ran)
                await self._call(partial(look, self.service, said_by(told, went)))
            self.begun = True
            if boot.how in (Boot.JOIN, Boot.OWN) and not running:
                raise ServiceFailed(
                    "nobody says that it runs with this config", next="it asks again"
                )
            await self._call(lambda: self.service.boot(booting))
        except ServiceFailed as error:
            self.memory.boots = None
            self.failure = error.message
            log.warning("it does not boot: %s", error.message)
            self.events.write("boot failed", why=error.message)
            # Who lets another one go first keeps nobody waiting meanwhile.
            self._lets_go = self.timing.retry if isinstance(error, NotFirst) else 0.0
            await asyncio.sleep(self.timing.retry - self._lets_go)
            self.post(BootFailed())
            return
        finally:
            self._boot = None
        self.failure = self.note = ""
        former = set() if boot.how is Boot.FOUND else {*self.memory.now.members} & boot.nodes
        self.memory.booted(self.who.me, former, boot.forget)
        self.runs = True
        self.events.write("booted", how=boot.how.value)
        self.post(Booted())

    # -- time --------------------------------------------------------------------------------

    async def _look(self) -> None:
        """See whether the service still runs; one that ended by itself ends the node."""
        try:
            found: ServiceStatus = await self._call(self.service.status)
            problem = "" if found.runs else "the service has ended by itself"
            if found.runs and self.runs and found.paused is not self.state.paused:
                self.post(Paused(found.paused))
        except ServiceFailed as error:
            problem = error.message
        if problem and self.runs:
            self.post(Died(problem))

    async def _clock(self) -> None:
        """Ask again, and look for who is away, as often as that is due."""
        elapsed = 0.0
        while True:
            await asyncio.sleep(self.timing.poll)
            elapsed += self.timing.poll
            state = self.state
            if state.waits and state.round is None and self._inbox.empty():
                self._lets_go -= self.timing.poll
                self.post(Tick(next(self._tokens), self.memory.record, self._lets_go > 0))
            if elapsed >= self.timing.poke:
                elapsed = 0.0
                if state.status is Status.READY and state.dead:
                    self.post(Poke())
                if self.runs and not self._one_at_a_time.locked():
                    await self._look()

    # -- the network -------------------------------------------------------------------------

    def message(self, sender: str, content: Any) -> None:
        """A message has come."""
        self.post(Receive(sender, content))

    def lost(self, to: str, content: Any) -> None:
        """Nobody can be reached to whom this was sent."""
        match content:
            case AskStatus(_, token) | AskAwaited(token) | AskLock(token):
                self.post(Silence(to, token))
            case AskService(number):
                self.peering.told(to, number, None)

    def down(self, name: str) -> None:
        """A connection has ended, or there is none."""
        self.post(Down(name))


def _doubt(memory: Memory, service: Service, events: EventLog) -> str:
    """Return what an operator should know before the service boots, and log it."""
    found = memory.doubt(looks=isinstance(service, Holder))
    if found:
        log.warning("%s", found)
        events.write("not stopped in order", ran=sorted(memory.now.ran))
    return found


def _booting(
    boot: BootBroker,
    config: Config,
    running: Mapping[str, Mapping[str, str]],
    members: frozenset[str],
) -> Booting:
    return Booting(
        how=boot.how,
        nodes=boot.nodes,
        ram=config.ram,
        running=running,
        members=members,
        forget=boot.forget,
    )


def _watched(post: Callable[[Any], None], work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin it; what it raises ends the node, which would else wait without a word."""

    def look(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            post(Broke(error))

    task = asyncio.ensure_future(work)
    task.add_done_callback(look)
    return task


def _version_of(state: State) -> int | None:
    return None if state.held is None else state.held.config.version
