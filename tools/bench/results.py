"""The results of a benchmark, which docs/benchmarks.json stores.

These classes are the file's schema: `read_json` refuses other JSON.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any, Literal

import cattrs
from attrs import frozen

from tools.bench.machine import Machine
from tools.bench.measure import Cost

Tool = Literal[
    "joinproto", "spin-dfs", "spin-bfs", "spin-bfs-o3", "per-state", "minicheck", "musil"
]

COMMIT = "two-phase-commit"

TOOL_NAMES: dict[Tool, str] = {
    "joinproto": "joinproto",
    "spin-dfs": "SPIN tuned, depth first",
    "spin-bfs": "SPIN tuned, breadth first",
    "spin-bfs-o3": "SPIN -O3, breadth first",
    "per-state": "Python, one call per step",
    "minicheck": "minicheck, in Python",
    "musil": "musil, in Python",
}

MEMBERS_OF_BASE = 3
"""The size whose memory and time are those of a tool's start, which are subtracted."""


@frozen
class Seen:
    """The counts of one run.  `depth`: in states.  None: the tool does not print the count."""

    distinct: int
    generated: int | None
    depth: int | None = None
    calls: int | None = None


@frozen
class Row:
    """One command, run several times.  Single numbers are medians.

    `bytes_per_state`: the peak memory above that of the tool's start, for each distinct state.
    `cpu_after_start`: the CPU seconds above those of the start.  Both are None for the start
    itself; the first also if no memory was added, the second if it is less than half of the start's
    CPU seconds, whose variation would hide it.
    """

    tool: Tool
    world: str
    members: int
    command: str
    seen: Seen
    costs: tuple[Cost, ...]
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    distinct_per_cpu_second: float
    generated_per_cpu_second: float | None
    cpu_after_start: float | None = None
    bytes_per_state: float | None = None


@frozen
class Comparison:
    """Ratios of joinproto and one peer, on the same space, or the peer on a part of it.

    `speed`: the ratio of distinct states a CPU second; `speed_after_start`: without both starts.
    `memory`: the ratio of bytes for each distinct state.
    """

    peer: Tool
    world: str
    members: int
    speed: float
    speed_after_start: float | None
    memory: float | None


@frozen
class Start:
    """The cost of a command that measures little more than its start."""

    command: str
    costs: tuple[Cost, ...]
    cpu_seconds: float
    wall_seconds: float


@frozen
class MemberCost:
    """A member that a broker embeds, in a cluster of `members`; see tools/bench/member.py.

    Microseconds are medians, except `life_slowest_tenth_us`: nine of ten rounds are faster.
    `round_us`: a round with a heartbeat.  `life_us`: one of `life_rounds` rounds of a whole life.
    `trigger_us`: the reference.  `young_bytes`: the memory of a member that has just become active;
    `old_bytes`: with `old_views` views, the most that a store keeps.
    """

    members: int
    round_us: float
    life_us: float
    life_slowest_tenth_us: float
    life_rounds: int
    trigger_us: float
    young_bytes: int
    old_bytes: int
    old_views: int

    @property
    def ratio(self) -> float:
        """Return the time of a round with a heartbeat, in triggers."""
        return self.round_us / self.trigger_us


@frozen
class NodeCost:
    """Three nodes on this machine, each write on three disks; see tools/bench/node.py.

    `founded_seconds`: from the start of three processes without data until all serve.
    `leader_killed_seconds`: from kill -9 of the sequencer to the next answer;
    `other_killed_seconds`: from kill -9 of another member.  `many_...`: with `many_clients`;
    `lone_seconds`: the median of one client's write.  `etcd`: etcd's version, `etcd_...`: its
    figures; None if it is not installed.  `load`: the machine's load before.
    """

    clients: int
    founded_seconds: float
    writes_per_second: float
    leader_killed_seconds: float
    other_killed_seconds: float
    etcd: str | None = None
    etcd_founded_seconds: float | None = None
    etcd_writes_per_second: float | None = None
    etcd_leader_killed_seconds: float | None = None
    etcd_other_killed_seconds: float | None = None
    many_clients: int | None = None
    many_writes_per_second: float | None = None
    etcd_many_writes_per_second: float | None = None
    lone_seconds: float | None = None
    etcd_lone_seconds: float | None = None
    load: float | None = None


@frozen
class RestartCost:
    """The start-up times of a node with this many frames, after kill -9; see
    tools/bench/restart.py.  `empty_seconds`: without frames; `first_seconds`: without index and
    snapshot; `restart_seconds`: with those of the first start, a median.  `load`: the machine's
    load before.
    """

    frames: int
    journal_bytes: int
    load: float
    empty_seconds: float
    first_seconds: float
    restart_seconds: float


@frozen
class Results:
    """All results.  `cold`: the first search, which compiles its loops.  `problems`: tools
    that failed or counted wrong.  `left_out`: tools that this machine could not run, with the
    package to install.  `member`, `node`, `restart`: None if not measured.
    """

    command: str
    date: str
    runs: int
    machine: Machine
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    starts: tuple[Start, ...]
    cold: Start | None
    problems: tuple[str, ...]
    left_out: tuple[str, ...]
    member: MemberCost | None = None
    node: NodeCost | None = None
    restart: RestartCost | None = None


def row_of(
    *,
    tool: Tool,
    world: str,
    members: int,
    command: str,
    seen: Seen,
    costs: Sequence[Cost],
    base: Row | None,
) -> Row:
    """Return the row of runs with these costs.  `base`: the row of the same tool's start."""
    # A system may count in hundredths of a second, so small commands may show 0.
    cpu = max(1e-3, statistics.median(cost.cpu_seconds for cost in costs))
    peak = int(statistics.median(cost.peak_bytes for cost in costs))
    later = None if base is None else cpu - base.cpu_seconds
    if base is not None and cpu < 1.5 * base.cpu_seconds:
        later = None
    above = 0 if base is None else peak - base.peak_bytes
    return Row(
        tool=tool,
        world=world,
        members=members,
        command=command,
        seen=seen,
        costs=tuple(costs),
        cpu_seconds=cpu,
        wall_seconds=statistics.median(cost.wall_seconds for cost in costs),
        peak_bytes=peak,
        distinct_per_cpu_second=seen.distinct / cpu,
        generated_per_cpu_second=None if seen.generated is None else seen.generated / cpu,
        cpu_after_start=later,
        bytes_per_state=above / seen.distinct if above > 0 else None,
    )


def start_of(command: str, costs: Sequence[Cost]) -> Start:
    """Return a command's costs with their medians."""
    return Start(
        command=command,
        costs=tuple(costs),
        cpu_seconds=statistics.median(cost.cpu_seconds for cost in costs),
        wall_seconds=statistics.median(cost.wall_seconds for cost in costs),
    )


def comparisons_of(rows: Sequence[Row]) -> tuple[Comparison, ...]:
    """Return the comparisons of joinproto with each peer that searched the same space, or a part.

    Sizes that measure almost only the start are not compared.
    """
    ours = {(row.world, row.members): row for row in rows if row.tool == "joinproto"}
    found = []
    for row in rows:
        own = ours.get((row.world, row.members))
        is_base = (row.world, row.members) == (COMMIT, MEMBERS_OF_BASE)
        if row.tool == "joinproto" or own is None or is_base:
            continue
        found.append(
            Comparison(
                peer=row.tool,
                world=row.world,
                members=row.members,
                speed=own.distinct_per_cpu_second / row.distinct_per_cpu_second,
                speed_after_start=_ratio(_rate_after_start(own), _rate_after_start(row)),
                memory=_ratio(own.bytes_per_state, row.bytes_per_state),
            )
        )
    return tuple(found)


def _rate_after_start(row: Row) -> float | None:
    # A rate, because the plain search visits only a part of the states.
    return None if row.cpu_after_start is None else row.seen.distinct / row.cpu_after_start


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below


_converter = cattrs.Converter(forbid_extra_keys=True)


def read_member(text: str) -> MemberCost:
    return _converter.structure(json.loads(text), MemberCost)


def read_node(text: str) -> NodeCost:
    return _converter.structure(json.loads(text), NodeCost)


def read_restart(text: str) -> RestartCost:
    return _converter.structure(json.loads(text), RestartCost)


def to_json(results: Results) -> str:
    """Return `results` as JSON text, with numbers rounded to five digits."""
    return json.dumps(_rounded(_converter.unstructure(results)), indent=1) + "\n"


def read_json(text: str) -> Results:
    """Return the results in `text`; raises if a key is missing or unknown, or a value is wrong."""
    return _converter.structure(json.loads(text), Results)


def _rounded(value: Any) -> Any:
    match value:
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [_rounded(item) for item in value]
        case float():
            # Five digits are enough: runs differ by some percent.
            return float(f"{value:.5g}")
    return value
