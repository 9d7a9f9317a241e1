"""Claims about whole runs over a state space that lies in files."""

from __future__ import annotations

from typing import Any

from models.engine.findings import Findings, judge_graph
from models.engine.judge import Claim
from models.engine.memory import available_bytes, resident_bytes
from models.engine.search import Limits, Search
from spark_explore.frontier import Frontier

BYTES_PER_STEP = 100
"""What a step takes in the memory of whoever judges liveness, its states included."""


def judge_runs(frontier: Frontier, context: Any, claims: list[Claim], found: Findings) -> None:
    """Add what breaks the claims.

    Where all states and steps fit into the driver's memory, it judges them as a local search
    does, on states of its own.
    """
    search = frontier.search
    limit = search.limits.memory_bytes or resident_bytes() + available_bytes() * 4 // 5
    needed = frontier.generated * BYTES_PER_STEP + frontier.distinct * int(frontier.bytes_per_state)
    if resident_bytes() + needed > limit:
        found.whole = False
        found.stopped_by = (
            f"the memory limit: {claims[0].property.kind!r} needs all {frontier.generated:,} steps"
            f" in one process, {needed / 2**30:.1f} GiB, and {limit / 2**30:.1f} GiB are allowed"
        )
        return
    here = Search(search.world, limits=Limits(), symmetry=search.symmetry)
    here.run()
    names = {claim.property.name for claim in claims}
    judge_graph(here, [c for c in here.judge.claims if c.property.name in names], found)
