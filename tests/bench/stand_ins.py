"""Helpers of the benchmark's tests: a stand-in for the command joinproto, and invented results."""

import sys
from pathlib import Path

from tools.bench import oracle
from tools.bench.machine import Machine
from tools.bench.measure import Cost
from tools.bench.results import (
    Results,
    Row,
    Seen,
    Tool,
    comparisons_of,
    row_of,
    start_of,
)

MIB = 1024**2

STAND_IN = """
import json, sys

if "--help" in sys.argv:
    raise SystemExit(0)
n = int(sys.argv[sys.argv.index("--members") + 1])
found = {
    "result": RESULT,
    "distinct": 2**n + 4**n + 6**n + TOO_MANY,
    "generated": 2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1),
    "depth": 3 * n + 2,
    "calls": 17,
}
print(json.dumps(found))
raise SystemExit(0 if RESULT == "holds" else 1)
"""


def stand_in(folder: Path, *, result: str = "holds", too_many: int = 0) -> tuple[str, ...]:
    """Return a command that answers `check` with the right counts plus `too_many` states."""
    file = folder / "stand_in.py"
    file.write_text(f"RESULT, TOO_MANY = {result!r}, {too_many}\n{STAND_IN}", "utf-8")
    return (sys.executable, "-S", "-E", str(file))


def cost(cpu: float, mib: float, wall: float | None = None) -> Cost:
    """Return a cost in CPU seconds, MiB and seconds."""
    return Cost(float(cpu), float(wall or cpu), peak_bytes=int(mib * MIB))


def row(tool: Tool, members: int, *costs: Cost, base: Row | None = None) -> Row:
    """Return a row of two-phase commit with the right counts."""
    right = oracle.two_phase_commit(members)
    return row_of(
        tool=tool,
        world="two-phase-commit",
        members=members,
        command=f"{tool} {members}",
        seen=Seen(
            right.distinct,
            right.generated,
            depth=None if tool == "spin-dfs" else right.depth,
            calls=10_872 if tool == "joinproto" else None,
        ),
        costs=costs,
        base=base,
    )


def invented_results() -> Results:
    """Return results of every kind but a member, nodes and a restart; the numbers are invented."""
    own = row("joinproto", 3, cost(1, 150))
    peer = row("spin-dfs", 3, cost(0.0, 2))
    rows = (
        own,
        peer,
        row("joinproto", 8, cost(2.5, 250), cost(2, 240), cost(9, 245), base=own),
        row("spin-dfs", 8, cost(4, 82), cost(5, 82), cost(4, 82), base=peer),
        row("joinproto", 9, cost(6, 400), base=own),
    )
    return Results(
        command="make bench",
        date="2026-01-31",
        runs=3,
        machine=Machine(
            processor="A Processor, 2600 MHz",
            processors=2,
            memory_gib=24.0,
            system="A System 12",
            kernel="6.1",
            python="3.11.7",
            versions={"spin": "6.5.2", "numpy": "2.0"},
            load_before=0.5,
            load_after=1.0,
        ),
        rows=rows,
        comparisons=comparisons_of(rows),
        starts=(start_of("joinproto --help", [cost(0.1, 20)]),),
        cold=start_of("joinproto check", [cost(9, 200)]),
        problems=(),
        left_out=(),
    )
