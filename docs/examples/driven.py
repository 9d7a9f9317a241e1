"""Three members in one program, over real sockets, with real disks and real time.

The service has no data, and only learns when it may serve.  `replicated.py` keeps a log;
`docs/embedding.md` says more.
"""

# ruff: noqa: T201 - a program of its own may print
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import anyio

from joinproto import (
    Address,
    Cluster,
    Config,
    Host,
    Network,
    NoData,
    StoreRecord,
    TcpTransport,
    create_store,
)

PLACES = {name: Address("127.0.0.1", 28_411 + at) for at, name in enumerate("abc")}
NAMES = frozenset(PLACES)


def member(name: str, path: Path) -> Cluster:
    service = NoData(
        opened=lambda view, is_sequencer: print(f"{name} serves, first: {is_sequencer}"),
        closed=lambda why: print(f"{name} serves no more: {why.value}"),
    )
    network = Network(
        member=name, cluster_name="demo", electors=NAMES, listen=PLACES[name], addresses=PLACES
    )
    host = Host(
        store=create_store(path, StoreRecord(store_id=token_hex(16)), member=name),
        transport=TcpTransport(network),
        service=service,
        transfer=service,
    )
    config = Config(
        member=name, electors=NAMES, wait_for=2, cluster_name="demo", patience=0.3, heartbeat=0.2
    )
    return Cluster(config, host)


async def main(top: Path) -> None:
    async with AsyncExitStack() as stack:
        clusters = []
        for name in sorted(NAMES):
            (top / name).mkdir()
            clusters.append(await stack.enter_async_context(member(name, top / name)))
        for cluster in clusters:
            outcome = await cluster.wait_active(timeout=30)
            print(f"{cluster.config.member} is active: {outcome.value}")
        await clusters[0].shutdown_cluster()
        for cluster in clusters:
            print(f"{cluster.config.member} has ended: {await cluster.wait_ended()}")


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))
