"""A node of the Clusterer from its start to its end, with these exit codes and reactions:

0    stopped in order, or left out of the config                  leave it down
1    the service or the disk failed, or it did not stop in time   look, then restart
2    the configuration is wrong                                   do not restart
4    the machine: an address in use, another node on this data    restart after a while
143  stopped at once, by a second SIGTERM or SIGINT               as you like
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from joinproto.apps.clusterer.host import ConfigRequest, Host, NodeFailed
from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.clusterer.network import MessageReceiver, Network
from joinproto.apps.clusterer.settings import Settings
from joinproto.apps.clusterer.wire import Hello
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import Answer, Stop
from joinproto.clusterer.reading import NotConfig, read
from joinproto.clusterer.state import Who
from joinproto.clusterer.why import reason as reason_of
from joinproto.clusterer.writing import as_erlang
from joinproto.durable.filesystem import REAL, let_go, make_directories, reason
from joinproto.durable.lock import take_lock
from joinproto.errors import EnvironmentProblem, StoreInUse
from joinproto.host.eventlog import EventLog, NoLog, open_log

log = logging.getLogger("joinproto.clusterer")

AT_ONCE = 143


def run_node(settings: Settings, given: Config | None = None) -> int:
    """Run until the node has ended; return the exit code, or raise an error that has one.

    `given`: the operator's config for this start.
    """
    lock = _locked(settings.data)
    try:
        return asyncio.run(_run(settings, given))
    finally:
        os.close(lock)


def _locked(data: Path) -> int:
    """Return the lock of this data directory, which one node at a time can hold."""
    path = data.parent / f"{data.name}-cluster.node"
    try:
        make_directories(REAL, path.parent, above=True)
        folder = REAL.open_directory(path.parent)
        try:
            return take_lock(REAL, folder, path, path.name)
        finally:
            let_go(REAL, folder)
    except OSError as error:
        raise EnvironmentProblem(
            f"{path}: {reason(error)}", next="set `data` to a path in a writable directory"
        ) from error
    except StoreInUse as error:
        raise EnvironmentProblem(
            f"{path}: another node runs on these data", next="stop that node"
        ) from error


async def _run(settings: Settings, given: Config | None) -> int:
    run = token_hex(8)
    host = Host(
        who=Who(settings.node, release=settings.release),
        stored=StoredConfig(settings.data, settings.release),
        members=MembersFile(settings.data),
        service=settings.service(),
        timing=settings.timing,
        events=NoLog(),
        fresh=token_hex(12),
        given=given,
    )
    port = _Port(host, settings)
    host.network = Network(
        me=Hello(
            node=settings.node, release=settings.release, run=run, listen=str(settings.listen)
        ),
        release=settings.release,
        addresses=settings.nodes,
        timing=settings.timing,
        secret=settings.secret,
        tls=settings.tls,
        heard=MessageReceiver(
            message=host.message,
            lost=host.lost,
            down=host.down,
            operator=port.answer,
            broke=lambda error: host.post(NodeFailed(error)),
        ),
    )
    await host.network.listen(settings.listen)
    stops = 0

    def stop(number: int) -> None:
        nonlocal stops
        stops += 1
        if stops > 1:
            os._exit(AT_ONCE)
        log.info("%s: stops; a second signal ends it at once", signal.Signals(number).name)
        loop.call_later(settings.timing.stop, _too_long, settings.timing.stop)
        host.post(Stop("stopped"))

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    log.info("%s answers at %s", settings.node, settings.listen)
    try:
        host.events = _events(settings)
        await host.run()
    finally:
        await host.network.close()
        host.events.write("ended", why=host.ended or "failed")
        host.events.close()
    return 0


def _too_long(seconds: float) -> None:
    log.error("not stopped after %g s (timing.stop): ends; its service may run on", seconds)
    os._exit(1)  # a thread that waits for the service cannot be ended


def _events(settings: Settings) -> EventLog:
    name = "".join(one if one.isalnum() else "-" for one in settings.node)
    return open_log(settings.events, name)


class _Port:
    """Answers the requests of operators."""

    def __init__(self, host: Host, settings: Settings) -> None:
        self.host, self.settings = host, settings

    async def answer(self, asked: Mapping[str, Any], is_gone: Callable[[], bool]) -> dict[str, Any]:
        match asked.get("op"):
            case "status":
                return await self._status()
            case "apply" if isinstance(asked.get("config"), str):
                return await self._apply(asked["config"], is_gone)
        return {"error": "no such request", "next": "send status, or apply with a config as text"}

    async def _status(self) -> dict[str, Any]:
        host = self.host
        state, network = host.state, host.network
        held = state.held
        named = frozenset() if held is None else held.config.nodes
        others = (named | set(self.settings.nodes)) - {state.who.me}
        return {
            "node": state.who.me,
            "status": state.status.value,
            "version": None if held is None else held.config.version,
            "config": None if held is None else as_erlang(held),
            "identity": state.identity or None,
            "achieved": None if state.achieved is None else as_erlang(state.achieved),
            "members": sorted(state.record.members),
            "ran": sorted(state.record.ran),
            "blank": state.blank,
            "waits_for": sorted(state.waits_for),
            "why": reason_of(state.why.rule, state.why.case, state.waits_for),
            "note": host.note or None,
            "service": {
                "runs": state.runs,
                "says": dict(await host.says()) if state.runs else {},
                "failure": host.failure or None,
            },
            "nodes": {
                name: {
                    "address": str(address) if (address := network.peer(name).address) else None,
                    "connected": network.reaches(name),
                }
                for name in sorted(others)
            },
            "release": state.who.release.value,
        }

    async def _apply(self, text: str, is_gone: Callable[[], bool]) -> dict[str, Any]:
        config, error = None, ""
        try:
            config = read(text, release=self.settings.release).held.config
        except NotConfig as found:
            error = str(found)
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.host.post(ConfigRequest(config, answered, is_gone))
        answer = await answered
        return {
            "reply": answer.reply.value,
            "accepted": answer.reply.is_accepted,
            "error": error or answer.why or None,
            "off": self.host.state.is_over,
        }
