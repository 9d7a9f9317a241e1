"""A broker from its start to its end, put together from store, sessions, clients and control."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import TypeAlias

import anyio
from attrs import define

from joinproto import __version__
from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.shortening import clear
from joinproto.apps.standby.performing import ThreadWorker
from joinproto.apps.standby.reporting import change_setting, numbers_of, status_of
from joinproto.apps.standby.settings import Settings
from joinproto.errors import EnvironmentProblem
from joinproto.host.eventlog import open_log
from joinproto.host.process.control import serve_control
from joinproto.host.process.ending import END_SECONDS, end_within, stop_signals
from joinproto.host.process.exits import AT_ONCE, raising_with_code
from joinproto.host.process.notify import keep_watchdog, notify

log = logging.getLogger("joinproto.standby")

MakesPort: TypeAlias = Callable[..., asyncio.Protocol]
"""Makes the protocol of a client's connection, which is `ClientPort`: it needs Proton for AMQP."""

TICK_SECONDS = 0.05
ACCEPTED_AT_ONCE = 50
"""The clients' connections accepted at once; fewer than the file descriptors for other uses."""
QUEUED_MAX = 1_024


def run_broker(settings: Settings, makes_port: MakesPort) -> int:
    """Run a broker until a signal ends it; return the exit code, or raise an error that has one.

    `makes_port`: called for each connection of a client.

    Exit codes: 0 stopped in order, 4 a problem of the machine, 5 this store must not run here, 143
    ended at once.
    """
    with raising_with_code(lambda: None):
        anyio.run(Process(settings, makes_port).run, backend="asyncio")
    return 0


@define
class Process:
    """One run of a broker."""

    settings: Settings
    makes_port: MakesPort

    async def run(self) -> None:
        """Run until a signal or a failure of the store ends the broker."""
        settings = self.settings
        log.info("joinproto %s, broker of cluster %s", __version__, settings.cluster)
        with ExitStack() as stack:
            disk = open_disk(
                settings.data,
                settings.broker,
                cluster=settings.cluster,
                brokers=sorted(settings.brokers),
            )
            stack.callback(disk.close)
            clear(disk.journal)
            events = open_log(settings.events, settings.broker)
            stack.callback(events.close)
            helper = ThreadWorker()
            stack.callback(helper.close)
            core = Core(settings, disk, events, helper)
            if settings.chain:
                # Imported here, so that a broker without a manager does not load this.
                from joinproto.apps.standby.managing import Manager

                core.manager = Manager(core)
            core.start()
            try:
                await self._serve(core)
            finally:
                # After a failed start the store is not marked as stopped in order.  The disk is
                # closed after this.
                with anyio.CancelScope(shield=True):
                    await core.stop(in_order=False)

    async def _serve(self, core: Core) -> None:
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            await tasks.start(core.links.peers.run)
            stack.callback((await self._listen(core)).close)
            if self.settings.http is not None:
                # Imported here, so that a broker without metrics does not load an HTTP server.
                from joinproto.apps.standby.metrics import BROKER_METRICS
                from joinproto.host.process.http import http_server

                await stack.enter_async_context(
                    http_server(self.settings.http, lambda: numbers_of(core), BROKER_METRICS)
                )
            tasks.start_soon(self._control, core)
            tasks.start_soon(self._tick, core)
            if core.manager is not None:
                tasks.start_soon(core.manager.run)
            tasks.start_soon(keep_watchdog)
            tasks.start_soon(self._obey_signals, core)
            notify("READY=1")
            try:
                await core.ended.wait()
            finally:
                for port in list(core.clients.ports):
                    port.drop()
                tasks.cancel_scope.cancel()
        if core.failure is not None:
            raise core.failure

    async def _listen(self, core: Core) -> asyncio.Server:
        at, clients = self.settings.clients, core.clients
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: self.makes_port(self.settings.broker, service=clients),
                at.host,
                at.port,
                backlog=ACCEPTED_AT_ONCE,
            )
            # asyncio also uses `backlog` as the length of the system's queue, where further
            # clients wait; that queue must be longer.
            for one in server.sockets:
                with socket.socket(fileno=os.dup(one.fileno())) as listening:
                    listening.listen(QUEUED_MAX)
            return server
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot listen for clients on {at}: {error.strerror or error}",
                next="look which process has the port, or set `clients` to another port",
            ) from error

    async def _tick(self, core: Core) -> None:
        while True:
            await anyio.sleep(TICK_SECONDS)
            core.tick()

    async def _obey_signals(self, core: Core) -> None:
        async for number in stop_signals():
            log.info("%s: stops in order; a second signal ends it at once", number.name)
            end_within(END_SECONDS, AT_ONCE)
            await core.stop()

    async def _control(self, core: Core) -> None:
        await serve_control(
            self.settings.control,
            {"status": partial(status_of, core), "promote": core.promote, "demote": core.demote},
            with_words={"set": partial(change_setting, core)},
        )
