"""Executors judge claims about whole runs if the driver cannot hold all steps.

The claims mean the same as in `joinproto/check/engine/liveness/`.  A run that breaks a claim begins
with a shortest run to a state in which the claim is due and can be put off forever.  The driver
looks for the rest of the run among at most `REGION_MAX` states near that state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen
from pyspark.sql import functions as F  # noqa: N812  the usual name

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.liveness.duties import Duties, duties_of, unmatched_fairness
from joinproto.check.engine.liveness.fair_runs import DutyBits
from joinproto.check.engine.runs.findings import Findings, add_result
from joinproto.check.engine.shapes import Rows
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.properties import ON_FAIR_RUNS
from joinproto.check.report import Trace
from spark_explore.fair import BITS, ROUNDS_MAX, Analysis, TooManyRounds
from spark_explore.frontier import Frontier
from spark_explore.listing import Listed, StoredFrame, listed
from spark_explore.neighbours import Neighbours
from spark_explore.step import BAD_MAX
from spark_explore.trace import trace_to

REGION_MAX = 200_000

JUDGED = (*ON_FAIR_RUNS, "always possible")
"""Kinds of claims that executors judge."""


def judge_apart(
    frontier: Frontier, context: Any, claims: list[Claim], found: Findings
) -> list[Claim]:
    """Add the runs that break the claims; return the claims that are left open."""
    if not claims:
        return []
    tables = listed(frontier, context)
    try:
        judging = _Judging(frontier, context, tables)
        left = []
        for at, claim in enumerate(claims):
            try:
                judging.judge(claim, found)
            except TooManyRounds:
                left = claims[at:]
                found.notes += (f"{claim.property.name!r} is open after {ROUNDS_MAX:,} rounds",)
                break
        if any(claim.property.kind in ON_FAIR_RUNS for claim in claims):
            found.idle = tuple(unmatched_fairness(frontier.search.tables, judging.infos))
        names = ", ".join(repr(claim.property.name) for claim in claims if claim not in left)
        if names:
            rounds = judging.analysis.rounds
            found.notes += (f"executors judged {names}: {rounds:,} rounds over all steps",)
        return left
    finally:
        tables.remove()


@frozen
class _Entry:
    """The nearest states from which a run can break a claim.

    `region`: all rows in which the run can go on breaking the claim; None if there are too many.
    """

    rows: Rows
    level: int
    region: Rows | None


@define
class _Judging:
    """The judging of claims on the tables of all states and steps."""

    frontier: Frontier
    context: Any
    tables: Listed
    analysis: Analysis = field(init=False)
    infos: Any = field(init=False)
    _changes: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        rows = self.tables.steps.select("info", "changes").distinct().collect()
        kinds = sorted((row.info, row.changes) for row in rows)
        self.analysis = Analysis(self.tables, kinds)
        self.infos = np.array([info for info, _ in kinds], np.int64)
        self._changes = np.array([changes for _, changes in kinds], np.bool_)

    @property
    def _duties(self) -> list[Duties]:
        return list(duties_of(self.frontier.search.tables, self.infos, self._changes))

    def judge(self, claim: Claim, found: Findings) -> None:
        """Add the runs that break one claim."""
        item = claim.property
        if claim.premise_bit >= 0:
            met = self.tables.states.agg(F.max(_bit("flags", claim.premise_bit)).alias("met"))
            claim.premise_met = bool(met.first().met)
        possible = item.kind == "always possible"
        entry = self._impossible(claim) if possible else self._put_off(claim)
        if entry is None:
            return
        initial, steps, row = trace_to(self.frontier, self.context, entry.rows, entry.level)
        trace = Trace(item.name, item.kind, initial, steps)
        if not possible:
            trace = self._with_end(claim, trace, row, entry, found)
        add_result(found, claim, "violated", trace, len(trace.steps))

    def _with_end(
        self, claim: Claim, trace: Trace, row: Rows, entry: _Entry, found: Findings
    ) -> Trace:
        """Return the run with its end: its loop, or the state where the claim is given up."""
        part = Neighbours.of(self.frontier.search, row, claim, entry.region, most=REGION_MAX)
        end = part.fair_run_breaking(claim)
        due_at = len(trace.steps) if claim.premise_bit >= 0 else None
        if end is None:
            note = (
                f"{claim.property.name!r}: the run is shown up to a state from which the claim can"
                f" be put off forever; its loop was not found among {REGION_MAX:,} states near it"
            )
            found.notes += (note,)
            return evolve(trace, due_at=due_at)
        begin, run = len(trace.steps), end.run
        return evolve(
            trace,
            steps=(*trace.steps, *end.steps),
            loop_at=None if run.loop_at is None else begin + run.loop_at,
            fairness=run.fairness,
            due_at=None if run.due_at is None else begin + run.due_at,
        )

    # -- the questions -----------------------------------------------------------------

    def _impossible(self, claim: Claim) -> _Entry | None:
        """Return the nearest states from which only runs with faults, if any, meet the claim."""
        faults = FaultSteps.of(self.frontier.search.tables).of_steps(self.infos)
        steps = self.analysis.steps_with(np.where(faults, 0, 1)).filter("mask != 0")
        states = self.tables.states.select("id", "level", "flags")
        able = self.analysis.leading(states, steps, _bit("flags", claim.bit))
        lost = self.tables.keep(states.join(able.frame.select("id"), "id", "left_anti"))
        able.drop()
        return self._nearest(lost, None, lost)

    def _put_off(self, claim: Claim) -> _Entry | None:
        """Return the nearest states where the claim is due and a fair run can put it off."""
        kind, wanted = claim.property.kind, None
        without, then = ~_bit("flags", claim.bit), ~_bit("then", claim.bit)
        due = F.col("level") == 0 if claim.premise_bit < 0 else _bit("flags", claim.premise_bit)
        if kind == "until" and (entry := self._given_up(claim, without, then, due)):
            return entry
        if kind == "eventually always":
            wanted, without, then = without, F.lit(True), F.lit(True)
        states = self.tables.states.filter(without).select("id", "level", "flags")
        steps = self.tables.steps.filter(without & then)
        bits = DutyBits.of(self._duties, len(self.infos), BITS)
        lasting = self.analysis.lasting(steps, states, bits, wanted)
        if not lasting.rows:
            return None
        if kind in ("infinitely often", "eventually always"):
            return self._nearest(lasting, None, lasting)
        region = lasting
        if any(one.strong for one in bits):
            # Strong duties keep states out of `lasting` from which a run can enter it.
            goal = lasting.frame.select("id", F.lit(True).alias("lasts"))
            states = states.join(goal, "id", "left")
            lasts = F.coalesce("lasts", F.lit(False))
            region = self.analysis.leading(states, steps.select("source", "target"), lasts)
        return self._nearest(region, due, region)

    def _given_up(self, claim: Claim, without: Any, then: Any, due: Any) -> _Entry | None:
        """Return the nearest due states that lead to a state with neither part of `until`."""
        states = self.tables.states.filter(without).select("id", "level", "flags")
        meanwhile = _bit("flags", claim.meanwhile_bit)
        steps = self.tables.steps.filter(without & meanwhile & then).select("source", "target")
        region = self.analysis.leading(states, steps, ~meanwhile)
        return self._nearest(region, due, region)

    def _nearest(self, states: StoredFrame, due: Any, region: StoredFrame) -> _Entry | None:
        chosen = states.frame if due is None else states.frame.filter(due)
        level = chosen.agg({"level": "min"}).first()[0]
        if level is None:
            return None
        ids = chosen.filter(f"level = {level}").select("id").limit(BAD_MAX)
        rows = self.tables.rows_of(self.tables.states.join(ids, "id"))
        listed_ = None
        if region.rows <= REGION_MAX:
            every = self.tables.states.join(region.frame.select("id"), "id")
            listed_ = self.tables.rows_of(every)
        return _Entry(rows, int(level), listed_)


def _bit(column: str, bit: int) -> Any:
    return F.expr(f"getbit({column}, {bit}) = 1")
