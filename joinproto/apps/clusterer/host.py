"""The host of a node: real time, disk, network and service around the steps of `coordinator`.

Events are handled one after the other.  The effects of a step are performed in order, each before
the next.  The node handles further events during a boot, and while it forgets nodes.

Source: Clusterer, U1 to U7; the real coordinator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any

from attrs import Factory, define, field, frozen

from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.clusterer.network import Network, Timing
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
from joinproto.clusterer import coordinator
from joinproto.clusterer.booting import still_left
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.messages import (
    Answer,
    Apply,
    BootBroker,
    Booted,
    BootFailed,
    Content,
    Died,
    Down,
    Event,
    Members,
    Paused,
    Poke,
    Question,
    Receive,
    Record,
    Reply,
    ServiceTold,
    Silence,
    Start,
    Tick,
    TimeUp,
    token_of,
)
from joinproto.clusterer.perform import Ports, perform
from joinproto.clusterer.state import State, Who
from joinproto.codec.json_form import filled
from joinproto.host.eventlog import EventLog
from joinproto.machine.step import performing

log = logging.getLogger("joinproto.clusterer")

FORGET_TRIES = 20
WARNS_OF_OLD_DATA = (
    "this node's service was not stopped in order. If the others were not either, as in a power"
    " cut, it is unknown which node has the newest data: the node that starts first may lack"
    " messages that another node has acknowledged, and the others then drop them. Compare the data"
    " directories before the nodes start (`joinproto recover pick`), and start the node with the"
    " newest data first"
)
WARNS_OF_REFUSED_CONFIG = (
    "the config given at the start is not taken ({}): the stored config counts. Raise the version"
    " of the given config, and give it at the next start or with `joinproto clusterer apply`"
)
WARNS_OF_COMPARISON = (
    "this node's service was not stopped in order. Before a node starts first, the nodes compare"
    " their definitions (queues, exchanges, users, policies), not the messages: a node that lacks a"
    " definition lets another node start first"
)


@frozen
class NodeFailed:
    """An internal task (the clock or a boot) ended unexpectedly."""

    error: BaseException


@frozen
class ConfigRequest:
    """An operator's request to apply `config`, which is None if it was not valid.

    `answer`: gets the node's answer.  `is_gone`: returns whether the operator has disconnected, and
    so expects that the config is not applied.
    """

    config: Config | None
    answer: asyncio.Future[Answer]
    is_gone: Callable[[], bool]


Waits = Iterable[Awaitable[None]]


@define
class Host(Ports[Awaitable[None]]):
    """One node.

    `fresh`: the identity that the node takes if it is blank.  `ended`: why the node has ended; None
    before.  `begun`: whether a boot was begun, so that the service may run.  `refused`: why the
    config given at the start is not taken, or "".  `blocking`: runs blocking calls in another
    thread.
    """

    who: Who
    stored: StoredConfig
    members: MembersFile
    service: Service
    timing: Timing
    events: EventLog
    fresh: str
    given: Config | None = None
    blocking: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread
    state: State = field(init=False)
    network: Network = field(init=False)
    ended: str | None = None
    failure: str = ""
    refused: str = ""
    begun: bool = False
    _inbox: asyncio.Queue[Any] = Factory(asyncio.Queue)
    _tokens: count[int] = Factory(lambda: count(1))
    _timer: asyncio.TimerHandle | None = None
    _boot: asyncio.Task[None] | None = None
    _answer: asyncio.Future[Answer] | None = None
    _seconds_to_yield: float = 0.0
    _one_at_a_time: asyncio.Lock = Factory(asyncio.Lock)
    _forgetting: asyncio.Task[None] | None = None

    def __attrs_post_init__(self) -> None:
        self.state = State(who=self.who)

    def post(self, event: Event | ConfigRequest | NodeFailed) -> None:
        """Give the node an event, which is handled after all earlier events."""
        self._inbox.put_nowait(event)

    async def run(self) -> None:
        """Run until the node has ended.

        Raises `StoreError` of the disk, and `ServiceFailed` if the service cannot be stopped or
        wiped, or has ended by itself.
        """
        kept, members = self.stored.load(), self.members.load()
        record = Record(members=members)
        if kept is not None:
            record = Record(stored=kept.held, identity=kept.identity, members=members)
        if doubt := self.doubt(members.is_doubtful):
            log.warning("%s", doubt)
            self.events.write("not stopped in order", ran=sorted(members.ran))
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

    async def _turn(self, event: Event | ConfigRequest | NodeFailed) -> None:
        match event:
            case NodeFailed(error):
                raise error
            case ConfigRequest(_, answer, is_gone) if is_gone():
                log.warning("a config is not taken: the operator who gave it has disconnected")
                answer.set_result(Answer(Reply.NOT_NOW))
            case ConfigRequest(config, answer):
                self._answer = answer
                await self._step(Apply(config))
                if not answer.done():
                    answer.set_result(Answer(Reply.NOT_NOW))
            case _:
                await self._step(event)

    @property
    def note(self) -> str:
        """Return a warning for the operator, or ""."""
        return self.doubt(self.state.is_doubtful) or self.refused

    def doubt(self, is_doubtful: bool) -> str:
        """Return a warning for the operator before the service boots, or ""."""
        return (
            (WARNS_OF_COMPARISON if isinstance(self.service, Holder) else WARNS_OF_OLD_DATA)
            if is_doubtful
            else ""
        )

    async def says(self) -> Mapping[str, str]:
        """Return the facts that the service reports or, before a boot, those of its disk."""
        try:
            if not self.begun:
                return dict(await self._call(partial(holdings, self.service)))
            found: ServiceStatus = await self._call(self.service.status)
        except ServiceFailed as error:
            log.warning("status: %s", error.message)
            return {}
        return found.says

    # -- a step, and its effects -------------------------------------------------------------

    async def _step(self, event: Event) -> None:
        before, step = self.state, coordinator.step(self.state, event)
        self.state = step.state
        self._log(before, step.state)
        for work in performing(step.effects, partial(perform, ports=self)):
            await work

    def _log(self, before: State, after: State) -> None:
        version = -1 if after.held is None else after.held.config.version
        is_known = before.held is not None and before.held.config.version == version
        if after.status is not before.status or not is_known:
            log.info("%s, version %s: %s", after.status.value, version, after.why.case)
            self.events.write(
                "status",
                status=after.status.value,
                version=version,
                rule=after.why.rule,
                case=after.why.case,
            )
        elif after.waits_for != before.waits_for and after.waits_for:
            log.info("waits for %s: %s", ", ".join(sorted(after.waits_for)), after.why.case)

    def send(self, to: str, content: Content) -> None:
        self.network.send(to, content)

    def tell_service(self, to: str, number: int, version: int, *, runs: bool) -> Waits:
        async def tell() -> None:
            says = Notes.of(await self.says())
            self.network.send(to, ServiceTold(number, runs, version, says))

        return (tell(),)

    def keep(self, held: Held, identity: str) -> Waits:
        yield self.blocking(partial(self.stored.keep, held, identity))
        self.events.write("stored", version=held.config.version, identity=identity)

    def keep_members(self, members: Members) -> Waits:
        return (self.blocking(partial(self.members.keep, members)),)

    def wipe(self) -> Waits:
        return (self._service("wipe", self.service.wipe),)

    def stop_broker(self, *, leaves: bool) -> Waits:
        return (self._stop(leaves=leaves),)

    def boot(self, boots: BootBroker) -> None:
        self._boot = _watched(self.post, self._booting(boots))

    def boot_nothing(self) -> None:
        self._boot = _watched(
            self.post,
            self._failed("no node reports that it runs with this config; ask again"),
        )

    def forget(self, nodes: frozenset[str]) -> None:
        self._forgetting = _watched(self.post, self._forget(nodes))

    def arm(self, seconds: int | None, number: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self.post, TimeUp(number))

    def answer(self, reply: Reply, why: str) -> None:
        if self._answer is None:
            self.refused = WARNS_OF_REFUSED_CONFIG.format(reply.value)
            log.warning("%s", self.refused)
            self.events.write("given config refused", why=reply.value)
            return
        if reply.is_accepted:
            self.refused = ""
        if not self._answer.done():
            self._answer.set_result(Answer(reply, why))

    def off(self, why: str, *, fails: bool) -> None:
        if fails:
            raise ServiceFailed(why, next="start the node again: it comes back as after a crash")
        log.warning("ends: %s", why)
        self.ended = why

    # -- the service -------------------------------------------------------------------------

    async def _call(self, do: Callable[[], Any]) -> Any:
        async with self._one_at_a_time:
            return await self.blocking(do)

    async def _service(self, what: str, do: Callable[[], None]) -> None:
        self.events.write(what)
        await self._call(do)
        self.events.write(f"{what}, done")

    async def _stop(self, *, leaves: bool) -> None:
        await self._service("stop", lambda: self.service.stop(leaves=leaves))
        self.begun = False

    async def _booting(self, boots: BootBroker) -> None:
        """Boot the service, and post the result as an event."""
        running = {name: dict(says.pairs) for name, says in boots.running.pairs}
        booting = filled(Booting, boots, running=running)
        self.events.write("boot", how=boots.how.value, running=sorted(booting.running))
        went = {name: None if says is None else dict(says.pairs) for name, says in boots.went.pairs}
        try:
            if went:
                await self._call(partial(look, self.service, went))
            self.begun = True
            await self._call(lambda: self.service.boot(booting))
        except ServiceFailed as error:
            # After `NotFirst` the boot fails without a pause, so that other nodes need not wait.
            self._seconds_to_yield = self.timing.retry if isinstance(error, NotFirst) else 0.0
            await self._failed(error.message)
            return
        self.failure = ""
        self.events.write("booted", how=boots.how.value)
        self._boot = None
        self.post(Booted())

    async def _failed(self, why: str) -> None:
        self.failure = why
        log.warning("the service does not boot: %s", why)
        self.events.write("boot failed", why=why)
        await asyncio.sleep(self.timing.retry - max(0.0, self._seconds_to_yield))
        self._boot = None
        self.post(BootFailed())

    async def _forget(self, left: frozenset[str]) -> None:
        """Make the service forget nodes that were left out; try again while that fails."""
        for _ in range(FORGET_TRIES):
            try:
                await self._call(lambda: self.service.forget(still_left(self.state, left)))
                self.events.write("forgot", nodes=sorted(left))
                return
            except ServiceFailed as error:
                log.info("%s is not forgotten yet: %s", ", ".join(sorted(left)), error.message)
            await asyncio.sleep(self.timing.retry)
            if not self.state.runs:
                return

    # -- time --------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Check that the service still runs; if it does not, the node ends."""
        try:
            found: ServiceStatus = await self._call(self.service.status)
        except ServiceFailed as error:
            self.post(Died(error.message))
            return
        self.post(Paused(found.paused) if found.runs else Died("the service has ended by itself"))

    async def _clock(self) -> None:
        """Post `Tick` and `Poke` at their intervals, and check the service."""
        elapsed = 0.0
        while True:
            await asyncio.sleep(self.timing.poll)
            elapsed += self.timing.poll
            if self._inbox.empty():
                self._seconds_to_yield -= self.timing.poll
                self.post(Tick(next(self._tokens), self._seconds_to_yield > 0))
            if elapsed >= self.timing.poke:
                elapsed = 0.0
                self.post(Poke())
                if self.state.runs and not self._one_at_a_time.locked():
                    await self._look()

    # -- the network -------------------------------------------------------------------------

    def message(self, sender: str, content: Content) -> None:
        """Handle a message of another node."""
        self.post(Receive(sender, content))

    def lost(self, to: str, content: Content) -> None:
        """Handle a message that could not be delivered."""
        if isinstance(content, Question):
            self.post(Silence(to, token_of(content)))

    def down(self, name: str) -> None:
        """Handle the end of a connection, or a failure to connect."""
        self.post(Down(name))


def _watched(
    post: Callable[[NodeFailed], None], work: Coroutine[Any, Any, None]
) -> asyncio.Task[None]:
    """Start a task whose error ends the node; otherwise the node would hang silently."""

    def look(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            post(NodeFailed(error))

    task = asyncio.ensure_future(work)
    task.add_done_callback(look)
    return task
