"""The cost of a search on a Spark cluster, computed from two finished runs on this machine.

    joinproto check two-phase-commit --members 8 --engine spark --master 'local[2]' --out SMALL
    joinproto check two-phase-commit --members 9 --engine spark --master 'local[2]' --out LARGE
    python -m tools.bench.scale SMALL LARGE

The difference of the two runs gives the CPU of a state, and the larger run its bytes.  A block has
one owner's rows for another in one level.  The cost of a block, the driver's cost of a question,
and the size of an owner's report are measured here, in Python alone, without Spark's own cost.

Exit codes: 0, 2 usage.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from math import isqrt, log
from pathlib import Path

import click
from attrs import asdict, frozen

from joinproto.check import load_world
from joinproto.check.engine.search import Search
from spark_explore.parcels import received
from spark_explore.step import ROWS
from tools.bench.figures import short, table


@frozen
class Costs:
    """The measured costs, in seconds of CPU and bytes.

    CPU: `state` of a distinct state, `block` of a block, `question` of the driver for a question.
    Bytes: `sent` of a state if no duplicate is dropped, `written` of its files, `counts` of one
    owner's report to the driver about a level.  `shape`: new states of each level.
    """

    state: float
    block: float
    question: float
    sent: float
    written: float
    counts: float
    shape: tuple[float, ...]


@frozen(kw_only=True)
class Cluster:
    """A cluster of `executors` with `cores` each.  Rates: bytes a second of one executor.

    `busy`: the share of time in which cores work; otherwise they wait for the end of a level.
    """

    executors: int
    cores: int = 4
    network: float = 1.25e9
    store: float = 0.5e9
    disk: float = 1e9
    busy: float = 0.6
    tasks_a_second: float = 3000.0
    result_bytes: float = 1 << 30
    """Spark's `spark.driver.maxResultSize`."""

    @property
    def owners(self) -> int:
        return self.executors * self.cores


# -- measuring -------------------------------------------------------------------------


def block_seconds(blocks: int = 5000, rows: int = 64) -> float:
    """Return the seconds of CPU in Python to send and to receive one small block."""
    content_bytes = bytes(8 * rows)
    began = time.process_time()
    for owner in range(blocks):
        block = pickle.dumps((owner, (ROWS, 1, content_bytes)))
        _, (_, words, content) = pickle.loads(block)  # noqa: S301  made above
        received(content, words)
    return (time.process_time() - began) / blocks


def question_seconds(asks: int = 2000) -> float:
    """Return the seconds of the driver's CPU to answer an executor that is up to date."""
    from spark_explore.rpc import packed, unpacked
    from spark_explore.table_server import TableServer
    from spark_explore.worker_cache import Address, RemoteTables

    search = Search(load_world("two-phase-commit", members=5))
    search.run()
    server = TableServer(search, wide=False)
    executor = RemoteTables(Address("", "", 0, ""), server.everything())
    question = packed({"position": executor.position()})
    began = time.process_time()
    for _ in range(asks):
        packed(server.answer({"ask": "news"}, unpacked(question))[1])
    return (time.process_time() - began) / asks


def counts_bytes(members: int = 8) -> int:
    """Return the size of one owner's report to the driver about a level with every kind of step."""
    from spark_explore.step import Counts

    search = Search(load_world("two-phase-commit", members=members))
    search.run()
    times = search.tables.out["taken"].array[: len(search.tables.outcomes)]
    taken = times.nonzero()[0], times[times != 0]
    return len(pickle.dumps(Counts(1, 1, taken=taken, events=search.tables.event_taken)))


def costs_of(small: Path, large: Path) -> Costs:
    """Return the costs of two finished runs of the same world in two sizes."""
    one, other = (json.loads((run / "report.json").read_bytes()) for run in (small, large))
    levels = json.loads((large / "search" / "growth.json").read_bytes())["levels"]
    on_spark = [level for level in levels if level["engine"] == "spark"]
    new = sum(level["new"] for level in on_spark)
    return Costs(
        state=(other["cpu_seconds"] - one["cpu_seconds"]) / (other["distinct"] - one["distinct"]),
        block=block_seconds(),
        question=question_seconds(),
        sent=8.0 * other["generated"] / other["distinct"],
        written=sum(level["written"] for level in on_spark) / new,
        counts=counts_bytes(),
        shape=tuple(level["new"] for level in levels),
    )


# -- a cluster -------------------------------------------------------------------------


def levels_of(states: float, costs: Costs) -> Iterator[float]:
    """Yield new states of each level, in the measured shape, stretched to the depth of `states`."""
    # N members have about 6^N states and 3 N + 2 levels.
    depth, last = round(3 * log(states, 6)) + 2, len(costs.shape) - 1
    parts = []
    for at in range(depth):
        below, part = divmod(at * last / (depth - 1), 1)
        here, above = costs.shape[int(below)], costs.shape[min(last, int(below) + 1)]
        parts.append(here + part * (above - here))
    yield from (states * part / sum(parts) for part in parts)


def seconds_by_cause(
    states: float, costs: Costs, cluster: Cluster, *, together: bool
) -> dict[str, float]:
    """Return the seconds of a whole search by cause.

    `together`: the counts of owners are added up before they are sent to the driver.
    """
    owners, executors = cluster.owners, cluster.executors
    found = dict.fromkeys(("compute", "blocks", "network", "write", "driver", "scheduling"), 0.0)
    for new in levels_of(states, costs):
        found["compute"] += new * costs.state / owners / cluster.busy
        found["blocks"] += owners * costs.block / cluster.busy
        found["network"] += new * costs.sent / executors / cluster.network
        found["write"] += new * costs.written / executors / cluster.store
        reports = isqrt(owners) if together else owners
        found["driver"] += 2 * owners * costs.question + reports * costs.counts / 200e6
        found["scheduling"] += 0.5 + 2 * owners / cluster.tasks_a_second
    return found


def limits(costs: Costs, cluster: Cluster, *, together: bool) -> list[str]:
    """Return the limits that a search on this cluster exceeds."""
    reports = isqrt(cluster.owners) if together else cluster.owners
    found = []
    if reports * costs.counts * 6 > cluster.result_bytes:
        found.append("results of a job of six levels exceed spark.driver.maxResultSize")
    if cluster.owners > 1000 and not together:
        found.append("a connection for each core: more than 1,024 open files")
    return found


def cluster_table(costs: Costs) -> str:
    """Return a table: the seconds of a search, by size and cluster."""
    lines = []
    for states in (1e10, 1e11):
        for executors in (100, 1000):
            cluster = Cluster(executors=executors)
            found = seconds_by_cause(states, costs, cluster, together=True)
            reached = limits(costs, cluster, together=False)
            lines.append(
                [
                    f"{states:.0e}",
                    f"{executors:,}",
                    *(short(found[name]) for name in found),
                    short(sum(found.values())),
                    max(found, key=lambda name: found[name]),
                    "; ".join(reached) or "-",
                ]
            )
    heads = ["states", "executors", "compute s", "blocks s", "network s", "write s"]
    heads += ["driver s", "scheduling s", "sum s", "most:", "limits without sums of counts:"]
    return table(heads, lines)


# -- the command -----------------------------------------------------------------------


@click.command()
@click.argument("small", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("large", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(small: Path, large: Path) -> None:
    """Compute the time of a cluster, from two finished runs on Spark."""
    costs = costs_of(small, large)
    for name, value in asdict(costs).items():
        if name != "shape":
            click.echo(f"{name:9} {value:.3g}")
    click.echo(cluster_table(costs))


if __name__ == "__main__":
    main()
