"""A node from its start to its end: puts the driver, the log and the ports together."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any

import anyio
from attrs import define

from joinproto import __version__
from joinproto.core.chain.messages import Event, Learned, PhaseChanged, Refusal, Stop
from joinproto.core.chain.messages import Waiting as NoView
from joinproto.drivers.clock import OffsetClock, SystemClock
from joinproto.drivers.cluster import Cluster
from joinproto.drivers.eventlog import EventLog, FileLog, NoLog
from joinproto.drivers.failures import NotActive, only_one
from joinproto.drivers.ports import Host
from joinproto.drivers.tcp import TcpTransport
from joinproto.errors import JoinprotoError
from joinproto.log.disk import open_disk
from joinproto.log.replicated import ReplicatedLog
from joinproto.node.clients import ClientPort, Served
from joinproto.node.control import serve_control
from joinproto.node.exits import AT_ONCE, with_code
from joinproto.node.http import http_server
from joinproto.node.settings import Settings
from joinproto.node.status import status_of

log = logging.getLogger("joinproto.node")

WAITING_SECONDS = 10.0
SWITCH_SECONDS = 0.000_2

ACK_BY_MAJORITY = "acknowledge-by-majority"
"""The mutant of this node: it does not wait for all members of the view."""


def run_node(settings: Settings) -> int:
    """Run until the member has ended; return the exit code, or raise with one."""
    # Whoever writes to the disk waits for the lock of the interpreter before and after, each
    # time as long as this: of 14 ms of a lone client's write 5 were such waits.
    sys.setswitchinterval(SWITCH_SECONDS)
    node = Node(settings)
    try:
        anyio.run(node.run)
    except BaseException as error:
        found = only_one(error)
        if isinstance(found, JoinprotoError):
            raise with_code(found, node.reason) from error
        if found is error:
            raise
        raise found from error
    return node.code


@define
class Node:
    """One run.  `code`: how it ended; `reason`: what it waited for last."""

    settings: Settings
    code: int = 0
    reason: Any = None

    async def run(self) -> None:
        """Run until the member has ended."""
        settings = self.settings
        with ExitStack() as stack:
            config = settings.config
            disk = open_disk(settings.data, config.member, config.cluster_name)
            stack.callback(disk.close)
            served = Served()
            mutants = settings.testing.mutants
            replicated = ReplicatedLog(
                disk.journal,
                served,
                enough=len(config.electors) // 2 + 1 if ACK_BY_MAJORITY in mutants else None,
            )
            transport = TcpTransport(settings.network)
            offset = settings.testing.clock_offset
            host = Host(
                store=disk.store,
                transport=transport,
                service=replicated,
                transfer=replicated,
                clock=SystemClock() if offset is None else OffsetClock(settings.data / offset),
                events=self._events(),
                seen=self._see,
                facts={
                    "version": __version__,
                    "mutants": [name for name in mutants if name != ACK_BY_MAJORITY],
                },
            )
            async with Cluster(config, host, record=disk.record) as cluster:
                port = ClientPort(cluster, replicated, served)

                def facts() -> dict[str, Any]:
                    return _numbers(cluster, replicated, port, transport)

                if settings.http is not None:
                    stack.enter_context(http_server(settings.http, facts))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(port.run, settings.clients)
                    tasks.start_soon(self._control, cluster, replicated, transport)
                    tasks.start_soon(self._obey_signals, cluster, tasks.cancel_scope)
                    tasks.start_soon(self._say_while_waiting, replicated, transport)
                    await self._until_ended(cluster)
                    tasks.cancel_scope.cancel()

    async def _until_ended(self, cluster: Cluster) -> None:
        wait = self.settings.timing.wait
        if wait > 0:
            try:
                await cluster.wait_active(timeout=wait)
            except NotActive:
                if cluster.ended is None:
                    raise
        ended = await cluster.wait_ended()
        if isinstance(ended, Stop):
            log.info("stopped in order; its store is %s", "clean" if ended.is_clean else "dirty")

    async def _obey_signals(self, cluster: Cluster, all_of_it: anyio.CancelScope) -> None:
        """The first signal leaves in order, a second one ends at once."""
        leaving = False
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with anyio.create_task_group() as tasks:
                async for number in signals:
                    if leaving:
                        log.warning("%s again: ends at once", number.name)
                        # No more is promised than by a crash, so nothing needs to be tidy.
                        logging.shutdown()
                        os._exit(AT_ONCE)
                    leaving = True
                    log.info("%s: leaves the cluster; once more ends at once", number.name)
                    tasks.start_soon(self._leave, cluster, all_of_it)

    async def _leave(self, cluster: Cluster, all_of_it: anyio.CancelScope) -> None:
        limit = self.settings.timing.leave
        with anyio.move_on_after(limit or None):
            try:
                await cluster.leave()
            except NotActive:
                return
            await cluster.wait_ended()
            return
        log.warning("could not leave within %g s: ends as it is; the others will notice", limit)
        self.code = AT_ONCE
        all_of_it.cancel()

    async def _say_while_waiting(self, replicated: ReplicatedLog, transport: TcpTransport) -> None:
        config = self.settings.config
        while True:
            await anyio.sleep(WAITING_SECONDS)
            away = sorted(config.electors - {config.member, *transport.peers})
            if not replicated.is_open and away:
                log.warning("not active; no connection to %s", ", ".join(away))

    async def _control(
        self, cluster: Cluster, replicated: ReplicatedLog, transport: TcpTransport
    ) -> None:
        async def status() -> Mapping[str, Any]:
            return status_of(cluster, replicated, transport.peers)

        async def shutdown() -> Mapping[str, Any]:
            with suppress(NotActive):
                await cluster.shutdown_cluster()
            return status_of(cluster, replicated, transport.peers)

        await serve_control(self.settings.control, {"status": status, "shutdown": shutdown})

    # -- what is seen --------------------------------------------------------------------------

    def _events(self) -> EventLog:
        if self.settings.events is None:
            return NoLog()
        name = f"{self.settings.config.member}-{time.time_ns()}-{os.getpid()}.jsonl"
        return FileLog.create(self.settings.events / name)

    def _see(self, event: Event) -> None:
        match event:
            case PhaseChanged(before, after, label, case):
                log.info("%s -> %s (%s: %s)", before.value, after.value, label, case)
            case Learned(view):
                log.info("view %s", view)
            case NoView(label, case, reason, detail):
                self.reason = reason
                why = "" if reason is None else f" ({reason.value})"
                log.warning("waiting, %s: %s%s %s", label, case, why, detail)
            case Refusal(peer, what):
                log.warning("refused %s: %s", peer, what)


def _numbers(
    cluster: Cluster, replicated: ReplicatedLog, port: ClientPort, transport: TcpTransport
) -> dict[str, Any]:
    member = cluster.engine.member.it
    tip, position = member.view, member.record.position
    return {
        "phase": member.phase.value,
        "serves": replicated.is_open,
        "view_number": member.record.lineage.length,
        "view_members": 0 if tip is None else len(tip.members),
        "peers": len(transport.peers),
        "committed": replicated.committed,
        "position": 0 if position is None else position.seq,
        "pending": replicated.pending,
        "clients": port.count,
        "acknowledged": port.served.acknowledged,
        "opened": port.served.opened_views,
        "refused_connections": transport.refusals.count,
    }


def log_to_stderr(member: str, *, verbose: bool) -> None:
    """Show what happens, one line for each, with the member's name."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format=f"%(asctime)s {member} %(levelname)s %(message)s",
    )
    # The library below the tables tells of each step of each machine.
    logging.getLogger("transitions").setLevel(logging.WARNING)
