"""Judge claims about whole runs over a state space in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.rows.bits import has_bit
from joinproto.check.engine.runs.findings import Findings, add_result, judge_graph
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Rows
from joinproto.check.engine.stopping import Limits
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.memory import available_bytes, resident_bytes
from joinproto.check.report import Trace
from spark_explore.frontier import Frontier
from spark_explore.keys import padded
from spark_explore.step import BAD_MAX, Task
from spark_explore.trace import trace_to

BYTES_PER_STEP = 100
"""Memory for each step in the process that judges liveness."""


def judge_runs(frontier: Frontier, context: Any, claims: list[Claim], found: Findings) -> None:
    """Add the runs that break the claims to `found`.

    If all states and steps fit into the driver's memory, the driver searches again and judges the
    claims as a local search does.  Otherwise executors judge claims about runs.  Claims about
    steps, and claims that need too many rounds, are left open, with the reason.
    """
    missing = memory_missing(frontier)
    if not missing:
        here = Search(frontier.search.world, limits=Limits())
        here.run()
        if here.found.unmapped:
            # As a local search does, it ended at a state that an abstract world does not have.
            claims = [claim for claim in claims if claim.property.abstract is not None]
            found.whole = False
        local = {claim.property.name: claim for claim in here.judge.claims}
        judge_graph(here, [local[claim.property.name] for claim in claims], found)
        for claim in claims:
            claim.premise_met = local[claim.property.name].premise_met
        return
    for claim in claims:
        if claim.property.kind == "no deadlock":
            judge_deadlocks(frontier, context, claim, found)
    # Imported here, because it needs pyarrow, which most searches do not need.
    from spark_explore.run_claims import JUDGED, judge_apart

    apart = [claim for claim in claims if claim.property.kind in JUDGED]
    rest = [claim for claim in claims if claim.property.scope == "step"]
    rest += judge_apart(frontier, context, apart, found)
    for claim in claims:
        broken = claim.property.name in found.results
        if not broken:
            add_result(found, claim, "unknown" if claim in rest else "holds", None, None)
    if rest:
        names_ = ", ".join(repr(claim.property.name) for claim in rest)
        found.stopped_by = (
            f"the memory limit: {names_} must be judged in one process; {missing}"
            " (allow more memory with --max-memory, or check these claims in a smaller world)"
        )


def memory_missing(frontier: Frontier) -> str:
    """Return "" if all states and steps fit into the allowed memory, else both figures as text."""
    limit = frontier.search.limits.memory_bytes
    limit = resident_bytes() + available_bytes() * 4 // 5 if limit is None else limit
    needed = frontier.generated * BYTES_PER_STEP + frontier.distinct * int(frontier.bytes_per_state)
    if resident_bytes() + needed <= limit:
        return ""
    return (
        f"{frontier.generated:,} steps and their states take {needed / 2**30:.1f} GiB, and"
        f" {limit / 2**30:.1f} GiB are allowed"
    )


# -- deadlocks -------------------------------------------------------------------------


def judge_deadlocks(frontier: Frontier, context: Any, claim: Claim, found: Findings) -> None:
    """Add the run to the nearest state without steps but faults that `claim` does not allow."""
    faults = context.broadcast(FaultSteps.of(frontier.search.tables))
    job = StuckSearch(frontier.task(context), faults, claim.bit)
    lots = frontier.level_files
    found_ = context.parallelize(lots, len(lots)).flatMap(job.look).collect()
    faults.destroy()
    if not found_:
        return
    nearest = min(level for level, _ in found_)
    words = frontier.search.tables.layout.words
    rows = np.concatenate([padded(part, words) for level, part in found_ if level == nearest])
    initial, steps, _ = trace_to(frontier, context, rows, nearest)
    item = claim.property
    trace = Trace(item.name, item.kind, initial, steps)
    add_result(found, claim, "violated", trace, len(steps))


@frozen
class StuckSearch:
    """One job, in which every task searches one owner's levels for stuck rows, from level 0 on."""

    task: Task
    faults: Any
    bit: int

    def look(self, files: list[tuple[int, str]]) -> Iterator[tuple[int, Rows]]:
        """Yield the first level that has stuck rows, with at most `BAD_MAX` of them."""
        for level, file in files:
            parts = self.task.storage.chunks(file, 1 << 16)
            rows = np.concatenate([self._stuck(part) for _, part in parts])[:BAD_MAX]
            if len(rows):
                yield level, rows
                return

    def _stuck(self, part: Rows) -> Rows:
        cache, faults = self.task.cache(), self.faults.value
        cache.catch_up()
        rows = padded(part, cache.tables.layout.words)
        numbers, flags = cache.combinations(rows)
        moves = np.zeros(len(rows), np.bool_)
        for batch in cache.successors(rows, numbers):
            moves[batch.source[~faults.of_steps(batch.info)]] = True
        return rows[~moves & ~has_bit(flags, self.bit)]
