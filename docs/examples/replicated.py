"""Three members in one program that keep one log: with journals on disk, over TCP.

A word is written at one member and read at another.  Then all are stopped in order and started
again from their disks.  `docs/embedding.md` says more.
"""

# ruff: noqa: T201 - a program of its own may print
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from joinproto import (
    Address,
    Application,
    Closing,
    Cluster,
    Config,
    Entry,
    Host,
    JournalFrame,
    Network,
    Position,
    ReplicatedLog,
    TcpTransport,
    View,
    open_disk,
)

PLACES = {name: Address("127.0.0.1", 28_421 + at) for at, name in enumerate("abc")}
NAMES = frozenset(PLACES)


class Words(Application):
    """The application of the log: a list of words."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def apply(self, frame: JournalFrame) -> None:
        self.known.append(Entry.of(frame.data).body.decode())

    def opened(self, view: View) -> None: ...  # from here on clients are served

    def closed(self, why: Closing) -> None: ...  # and from here on they are not


async def write(log: ReplicatedLog, word: str) -> None:
    """Return when all members of the view have the word on disk."""
    acknowledged = anyio.Event()

    def done(at: Position) -> None:
        acknowledged.set()

    log.submit(word.encode(), done)
    await acknowledged.wait()


async def read(log: ReplicatedLog, words: Words) -> list[str]:
    """Return the words, with all that were acknowledged before."""
    confirmed = anyio.Event()

    def done(upto: int) -> None:
        confirmed.set()

    log.barrier(done)
    await confirmed.wait()
    return list(words.known)


async def run(top: Path, word: str) -> None:
    logs, words, clusters = {}, {}, []
    async with AsyncExitStack() as stack:
        for name, place in PLACES.items():
            disk = open_disk(top / name, name, "words")
            stack.callback(disk.close)
            words[name] = Words()
            logs[name] = ReplicatedLog(disk.journal, words[name])
            network = Network(
                member=name, cluster_name="words", electors=NAMES, listen=place, addresses=PLACES
            )
            host = Host(
                store=disk.store,
                transport=TcpTransport(network),
                service=logs[name],
                transfer=logs[name],
            )
            config = Config(member=name, electors=NAMES, wait_for=2, cluster_name="words")
            clusters.append(await stack.enter_async_context(Cluster(config, host)))
        for cluster in clusters:
            outcome = await cluster.wait_active(timeout=60)
            print(f"{cluster.config.member} is active: {outcome.value}")
        await write(logs["a"], word)
        print("read at c:", *await read(logs["c"], words["c"]))
        await clusters[0].shutdown_cluster()
        for cluster in clusters:
            await cluster.wait_ended()


with TemporaryDirectory() as folder:
    for word in ("first", "second"):
        anyio.run(run, Path(folder), word)
