"""Event logs of real members: three in this process take frames, are closed, and start again."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex

import anyio
import pytest

from joinproto.durable.journal.journal import Frame
from joinproto.host.cluster import Cluster
from joinproto.host.eventlog import FileLog
from joinproto.host.ports import Host
from joinproto.join.messages import Closing
from joinproto.join.view import View
from joinproto.log.disk import open_disk
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.tcp import TcpTransport
from tests.host.nearby import PATIENCE, network, places, unhurried, until


class Quiet:
    """An application that does nothing."""

    def apply(self, frame: Frame) -> None: ...
    def opened(self, view: View) -> None: ...
    def closed(self, why: Closing) -> None: ...


async def run_three_members(top: Path) -> None:
    """Run three members until each has taken a frame and a read, and shut them down in order."""
    three = places(top)
    async with AsyncExitStack() as stack:
        logs, clusters = [], []
        for name, place in three.items():
            disk = open_disk(top / name, name, "cluster")
            stack.callback(disk.close)
            log = ReplicatedLog(disk.journal, Quiet())
            host = Host(
                store=disk.store,
                transport=TcpTransport(network(name, place.ports)),
                service=log,
                transfer=log,
                clock=place.clock,
                events=FileLog.create(top / "events" / f"{name}-{token_hex(4)}.jsonl"),
            )
            cluster = Cluster(place.config(), host, record=disk.record)
            clusters.append(await stack.enter_async_context(cluster))
            logs.append(log)
        for cluster in clusters:
            await cluster.wait_active(timeout=PATIENCE)
        done: list[int] = []
        for log, cluster in zip(logs, clusters, strict=True):
            await until(lambda log=log: log.is_open)  # type: ignore[misc]
            await cluster.call(lambda log=log: log.submit(b"text", lambda at: done.append(at.seq)))  # type: ignore[misc]
        await until(lambda: len(done) == 3)
        read: list[int] = []
        for log, cluster in zip(logs, clusters, strict=True):
            await cluster.call(lambda log=log: log.barrier(read.append))  # type: ignore[misc]
        await until(lambda: len(read) == 3)
        await clusters[1].shutdown_cluster()
        with anyio.fail_after(PATIENCE):
            for cluster in clusters:
                await cluster.wait_ended()


@pytest.fixture(scope="session")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the logs of two such runs; tests copy the files that they change."""
    top = tmp_path_factory.mktemp("life")
    with unhurried():
        for _ in range(2):
            anyio.run(run_three_members, top)
    return top / "events"
