"""`simulate(world)`: random runs, each state judged.  What no run met is not proved absent.

The same seed gives the same runs.  Claims about whole runs (`eventually`, `always possible`)
cannot be judged by runs that end somewhere; it is only said how many met them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from attrs import field, frozen

from models.properties import Property
from models.report import Coverage, Trace, step_to_json
from models.world import World

NO_PROOF = "a simulation is no proof: it says nothing of the runs it did not take"


MetResult = Literal["violated", "not-violated", "untested", "reached", "not-reached", "not-judged"]


@frozen
class ClaimMet:
    """What the runs say of one claim.

    `runs`: those in which it was true at some time; of an `always`, those that broke it.
    `premise_runs`: those that met its premise, None where it has none.  `trace_length`: steps
    of the shortest run that broke it.  `judged`: whether a run can break it at all.
    """

    name: str
    kind: str
    runs: int
    premise_runs: int | None = None
    trace_length: int | None = None
    judged: bool = True

    @property
    def is_broken(self) -> bool:
        return self.trace_length is not None

    @property
    def result(self) -> MetResult:
        """Return what can be said; `untested`: no run put the claim to the test."""
        if self.is_broken:
            return "violated"
        if self.kind == "sometimes":
            return "reached" if self.runs else "not-reached"
        if not self.judged:
            return "not-judged"
        return "untested" if self.premise_runs == 0 else "not-violated"


@frozen(kw_only=True)
class Simulation:
    """The result of random runs.

    `runs`: those taken; fewer than `runs_wanted` if a limit came first (`stopped_by`).
    `steps`: of all of them together.  `rested`: runs that ended because nothing could change
    any more.  `trace`: the shortest run that broke a claim.
    """

    world: str
    result: Literal["violated", "not-violated"]
    seed: int
    runs_wanted: int
    runs: int
    steps_max: int
    steps: int
    longest: int
    rested: int
    distinct: int
    calls: int
    seconds: float
    members: int
    claims: tuple[ClaimMet, ...]
    coverage: Coverage
    trace: Trace | None = None
    stopped_by: str = ""
    notes: tuple[str, ...] = field(default=(NO_PROOF,))


@frozen
class Stride:
    """How far a simulation is."""

    runs: int
    runs_wanted: int
    steps: int
    distinct: int
    seconds: float


def simulate(
    world: World,
    *,
    runs: int = 1000,
    seed: int = 0,
    steps_max: int = 100,
    memory_max_bytes: int | None = None,
    progress: Callable[[Stride], None] | None = None,
) -> Simulation:
    """Take `runs` random runs of at most `steps_max` steps each.

    Each step is drawn among those that change the state, all equally likely.  A run ends
    where it breaks an `always`.  Raises `ModelProblem` for a model that cannot be explored.
    """
    from models.engine.coverage import coverage_of
    from models.engine.memory import TooMany
    from models.engine.walks import Walker

    began = time.perf_counter()
    walker = Walker(world, seed=seed, steps_max=steps_max, memory_bytes=memory_max_bytes)

    def tick() -> None:
        if progress is not None:
            found = walker.found
            seconds = time.perf_counter() - began
            progress(Stride(found.runs, runs, found.steps, walker.distinct, seconds))

    stopped_by = ""
    try:
        while walker.found.runs < runs:
            walker.walk(runs - walker.found.runs, tick)
    except (TooMany, MemoryError):
        stopped_by = "the memory limit"
    walker.search.tables.codes.ask_again()
    found = walker.found
    claims = tuple(_claim(item, found) for item in world.properties)
    trace = None
    # The shortest; of equally short ones, that of the claim named first.
    for claim in sorted(claims, key=lambda claim: (not claim.is_broken, claim.trace_length or 0)):
        if claim.is_broken:
            initial, steps = walker.retrace(found.broken[claim.name])
            trace = Trace(claim.name, claim.kind, initial, steps)
            break
    walker.leave_counts()
    return Simulation(
        world=world.name,
        result="not-violated" if trace is None else "violated",
        seed=seed,
        runs_wanted=runs,
        runs=found.runs,
        steps_max=steps_max,
        steps=found.steps,
        longest=found.longest,
        rested=found.rested,
        distinct=walker.distinct,
        calls=walker.search.tables.codes.calls,
        seconds=time.perf_counter() - began,
        members=world.size,
        claims=claims,
        # The same report as of a search, of what was drawn.
        coverage=coverage_of(walker.search),
        trace=trace,
        stopped_by=stopped_by,
    )


def _claim(item: Property, found: Any) -> ClaimMet:
    name = item.name
    broken = found.broken.get(name)
    can_break = item.kind in ("always", "no deadlock")
    return ClaimMet(
        name,
        item.kind,
        (found.runs_broken if can_break else found.reached).get(name, 0),
        None if item.premise is None else found.premise.get(name, 0),
        None if broken is None else len(broken.infos),
        judged=item.kind not in ("eventually", "always possible"),
    )


def to_json(found: Simulation) -> dict[str, Any]:
    """Return the simulation as JSON values; keys as in a report where they mean the same."""
    out: dict[str, Any] = {
        "world": found.world,
        "result": found.result,
        "seed": found.seed,
        "runs": found.runs,
        "runs_wanted": found.runs_wanted,
        "steps_max": found.steps_max,
        "steps": found.steps,
        "longest": found.longest,
        "rested": found.rested,
        "distinct": found.distinct,
        "calls": found.calls,
        "seconds": round(found.seconds, 3),
        "members": found.members,
        "properties": [
            {
                "name": claim.name,
                "kind": claim.kind,
                "result": claim.result,
                "runs": claim.runs,
                "premise_runs": claim.premise_runs,
                "trace_length": claim.trace_length,
            }
            for claim in found.claims
        ],
        "coverage": {
            "actions": dict(found.coverage.actions),
            "rules": dict(found.coverage.rules),
            "never": list(found.coverage.never),
        },
        "stopped_by": found.stopped_by,
        "notes": list(found.notes),
    }
    if found.trace is not None:
        out["property"] = found.trace.property
        out["initial"] = {name: dict(values) for name, values in found.trace.initial.items()}
        out["trace"] = [step_to_json(step) for step in found.trace.steps]
    return out
