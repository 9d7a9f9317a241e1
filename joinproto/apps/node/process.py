"""A node from its start to its end, put together from the driver, the log and the ports."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from attrs import define, evolve, field, frozen

from joinproto import __version__
from joinproto.apps.node.clients import ClientPort
from joinproto.apps.node.reporting import Reporter
from joinproto.apps.node.settings import Settings, Stopping
from joinproto.apps.node.status import status_of
from joinproto.apps.node.stopped import permit_restart
from joinproto.errors import JoinprotoError
from joinproto.host.clock import OffsetClock, SystemClock
from joinproto.host.cluster import Cluster
from joinproto.host.eventlog import open_log
from joinproto.host.failures import NotActive, only_one
from joinproto.host.ports import Host
from joinproto.host.process.control import serve_control
from joinproto.host.process.ending import END_SECONDS, end_within, stop_signals
from joinproto.host.process.exits import AT_ONCE, BUG, raising_with_code, with_code
from joinproto.host.process.http import http_server
from joinproto.host.process.notify import keep_watchdog, notify
from joinproto.join.config import Config
from joinproto.join.messages import Stop
from joinproto.log.disk import open_disk
from joinproto.log.keeper import Keeping
from joinproto.log.replicated import Application, ReplicatedLog
from joinproto.net.tcp import TcpTransport

if TYPE_CHECKING:
    from joinproto.apps.node.discovering import PeerDiscovery


class Front(Application, Protocol):
    """An application of the log with a port for clients, such as `ClientPort`."""

    @property
    def count(self) -> int:
        """The number of connected clients."""

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged frames of clients."""

    @property
    def opened_views(self) -> int:
        """The number of views in which the application began to serve."""

    async def serve(self, cluster: Cluster, log: ReplicatedLog) -> None:
        """Serve clients while the log is open, until cancelled."""


log = logging.getLogger("joinproto.node")

WAITING_SECONDS = 10.0
SWITCH_SECONDS = 0.000_2


def run_node(settings: Settings, front: Callable[[], Front] | None = None) -> int:
    """Run until the member has ended, and return the exit code; a `JoinprotoError` carries it.

    `front`: makes the server for clients, inside the event loop (asyncio); None means lines of
    text.
    """
    # A thread that writes to the disk waits for the interpreter lock before and after the write,
    # for up to this time.  With the default such waits took 5 of 14 ms of a lone client's write.
    sys.setswitchinterval(SWITCH_SECONDS)
    node = Node(settings, front or (lambda: ClientPort(settings.clients, settings.reads)))
    try:
        with raising_with_code(lambda: node.reporter.reason):
            anyio.run(node.run)
    finally:
        for call_off in node.limits:
            call_off()
    return node.code


@frozen
class RunningMember:
    """A running member with its log, its transport and its server for clients."""

    cluster: Cluster
    log: ReplicatedLog
    transport: TcpTransport
    front: Front

    def numbers(self) -> dict[str, Any]:
        """Return the facts for health and metrics."""
        member, log = self.cluster.engine.member, self.log
        tip, position = member.view, member.record.position
        return {
            "phase": member.phase.value,
            "serves": log.is_open,
            "view_number": member.record.lineage.length,
            "view_members": 0 if tip is None else len(tip.members),
            "peers": len(self.transport.peers),
            "committed": log.committed,
            "position": 0 if position is None else position.seq,
            "pending": log.pending,
            "first_frame": log.journal.first_seq,
            "snapshot": log.snapshot,
            "journal_bytes": log.journal.size,
            "clients": self.front.count,
            "acknowledged": self.front.acknowledged,
            "opened": self.front.opened_views,
            "refused_connections": self.transport.refusals.count,
        }


@define
class Node:
    """One run of a node.

    `code`: the exit code.  `is_away`: a signal ends the member, which stays in its view; `gone` is
    set when the others know that.  `limits`: functions that cancel the time limits for ending.
    `finding`: None if the file names the electors.  `restarts`: whether the member restarts, with
    other electors.
    """

    settings: Settings
    front: Callable[[], Front]
    code: int = 0
    reporter: Reporter = field(factory=Reporter)
    is_away: bool = False
    restarts: bool = False
    finding: PeerDiscovery | None = None
    began: float = field(factory=time.monotonic)
    gone: anyio.Event = field(factory=anyio.Event)
    limits: list[Callable[[], None]] = field(factory=list)

    async def run(self) -> None:
        """Run until the member has ended."""
        settings = self.settings
        config = settings.config
        log.info("joinproto %s, of cluster %s", __version__, config.cluster_name)
        for warning in settings.warnings:
            log.warning("%s", warning)
        if settings.discovery is None:
            await self._run_member(config)
            return
        # Discovery needs an extra that a node without discovery does not need.
        from joinproto.apps.node.discovering import open_discovery

        async with (
            open_discovery(settings.discovery, config.member) as self.finding,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self.finding.keep_registered)
            self.restarts = True
            while self.restarts:
                self.restarts = False
                await self._run_member(config)
                config = evolve(config, electors=self.finding.electors or config.electors)
            tasks.cancel_scope.cancel()

    async def _run_member(self, config: Config) -> None:
        """Run a member until it has ended, or until it must restart with other electors."""
        settings = self.settings
        with ExitStack() as stack:
            disk = open_disk(settings.data, config.member, config.cluster_name)
            stack.callback(disk.close)
            front = self.front()
            replicated = ReplicatedLog(
                disk.journal,
                front,
                keeping=Keeping(
                    snapshot_every=settings.log.snapshot_every,
                    keep_frames=settings.log.keep_frames,
                    before_dropping=disk.before_dropping,
                ),
            )
            transport = TcpTransport(settings.network)
            offset = settings.testing.clock_offset
            host = Host(
                store=disk.store,
                transport=transport,
                service=replicated,
                transfer=replicated,
                clock=SystemClock() if offset is None else OffsetClock(settings.data / offset),
                events=open_log(
                    settings.events,
                    config.member,
                    bytes_max=settings.events_bytes,
                    is_needed=settings.events_needed,
                ),
                seen=self.reporter.see,
                facts={"version": __version__},
                register=None if self.finding is None else self.finding.successors,
            )
            async with Cluster(config, host, record=disk.record) as cluster:
                with self._ending(cluster):
                    await self._serve(RunningMember(cluster, replicated, transport, front))
            if self.is_away:
                permit_restart(disk.store)

    async def _serve(self, running: RunningMember) -> None:
        """Return when the member has ended."""
        http = self.settings.http
        async with AsyncExitStack() as stack:
            if http is not None:
                await stack.enter_async_context(http_server(http, running.numbers))
            tasks = await stack.enter_async_context(anyio.create_task_group())
            tasks.start_soon(running.front.serve, running.cluster, running.log)
            tasks.start_soon(self._control, running)
            tasks.start_soon(self._obey_signals, running.cluster, tasks.cancel_scope)
            tasks.start_soon(self._say_while_waiting, running)
            if self.finding is not None:
                tasks.start_soon(self._find, self.finding, running)
            tasks.start_soon(keep_watchdog)
            notify("READY=1")
            await self._until_ended(running.cluster)
            tasks.cancel_scope.cancel()

    @contextmanager
    def _ending(self, cluster: Cluster) -> Iterator[None]:
        """Limit the time to end after the block.

        After this time, the process exits with the code of the block's error, or with `code`.
        """
        try:
            yield
        except BaseException as error:
            found = cluster.failure or only_one(error)
            if isinstance(found, JoinprotoError):
                self._end_within(END_SECONDS, with_code(found, self.reporter.reason).code)
            elif isinstance(found, Exception):
                self._end_within(END_SECONDS, BUG)
            raise
        else:
            if not self.restarts:
                self._end_within(END_SECONDS, self.code)

    def _end_within(self, seconds: float, code: int) -> None:
        self.limits.append(end_within(seconds, code))

    async def _until_ended(self, cluster: Cluster) -> None:
        wait = self.settings.timing.wait
        if wait > 0:
            left = self.began + wait - time.monotonic()
            try:
                await cluster.wait_active(timeout=max(left, 0.0))
            except NotActive:
                if cluster.ended is None and not self.restarts:
                    raise NotActive.because(cluster.phase, cluster.engine.waiting, wait) from None
        ended = await cluster.wait_ended()
        if isinstance(ended, Stop):
            log.info("stopped in order; its store is %s", "clean" if ended.is_clean else "dirty")
        elif self.restarts:
            log.info("restarts, to found the cluster with the nodes that were found")
        elif self.is_away:
            await self.gone.wait()
            log.info("stopped; this member stays in its view, and comes back when it is started")

    async def _find(self, finding: PeerDiscovery, running: RunningMember) -> None:
        """Look for peers; end the member when it must restart with other electors."""
        await finding.look(running.cluster, running.transport)
        if not self.is_away:
            self.restarts = True
            await running.cluster.halt()

    async def _obey_signals(self, cluster: Cluster, scope: anyio.CancelScope) -> None:
        async with anyio.create_task_group() as tasks:
            async for number in stop_signals():
                leaves = self.settings.stop is Stopping.LEAVE
                does = "leaves the cluster" if leaves else "stops, and stays a member"
                log.info("%s: %s; a second signal ends it at once", number.name, does)
                if leaves:
                    tasks.start_soon(self._leave, cluster, scope)
                else:
                    tasks.start_soon(self._go_away, cluster)

    async def _go_away(self, cluster: Cluster) -> None:
        self._end_within(END_SECONDS, AT_ONCE)
        self.is_away = cluster.ended is None
        try:
            with suppress(JoinprotoError):  # `_until_ended` raises this error, too
                await cluster.halt()
        finally:
            self.gone.set()

    async def _leave(self, cluster: Cluster, scope: anyio.CancelScope) -> None:
        limit = self.settings.timing.leave
        if limit:
            self._end_within(limit + END_SECONDS, AT_ONCE)
        with anyio.move_on_after(limit or None):
            try:
                await cluster.leave()
            except NotActive:
                return
            await cluster.wait_ended()
            return
        log.warning("could not leave within %g s: ends without leaving; others will notice", limit)
        self.code = AT_ONCE
        scope.cancel()

    async def _say_while_waiting(self, running: RunningMember) -> None:
        config = running.cluster.config
        while True:
            await anyio.sleep(WAITING_SECONDS)
            away = sorted(config.electors - {config.member, *running.transport.peers})
            self.reporter.see_absent([] if running.log.is_open else away)

    async def _control(self, running: RunningMember) -> None:
        def status() -> Mapping[str, Any]:
            found = None if self.finding is None else self.finding.seen
            return status_of(running.cluster, running.log, running.transport.peers, found)

        async def shutdown() -> Mapping[str, Any]:
            with suppress(NotActive):
                await running.cluster.shutdown_cluster()
            return status()

        await serve_control(self.settings.control, {"status": status, "shutdown": shutdown})
