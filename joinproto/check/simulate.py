"""`simulate(world)`: random runs, each state judged.  They do not prove that a claim holds.

The same seed gives the same runs.  Claims about whole runs (`eventually`, `always possible`)
cannot be judged by runs that end somewhere; the report only says in how many runs they came true.
Claims about steps are judged on the steps drawn, each of which changes something.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from attrs import field, frozen

from joinproto.check.pictures import with_pictures
from joinproto.check.properties import Kind, Property
from joinproto.check.report import Coverage, Trace
from joinproto.check.world import World
from joinproto.codec.json_form import Count, Key, Merged, Seconds

BREAKABLE: tuple[Kind, ...] = ("always", "no deadlock", "always step", "implements")
"""Kinds of claims that a run which ends somewhere can break."""

NO_PROOF = "a simulation is not a proof: it does not judge the runs that it did not take"


ClaimVerdict = Literal[
    "violated", "not-violated", "untested", "reached", "not-reached", "not-judged"
]


@frozen
class SimulatedClaim:
    """The result of the runs for one claim.

    `judged`: whether a run that ends can break it, or reach it for a `sometimes`.
    """

    name: Annotated[str, "the claim's name"]
    kind: Annotated[Kind, "the claim's kind"]
    runs: Annotated[Count, "runs that broke it, or made it true if no run can break it"]
    premise_runs: Annotated[Count | None, "runs that met its premise; null: no premise"] = None
    trace_length: Annotated[Count | None, "steps of the shortest run that broke it"] = None
    judged: bool = True

    @property
    def is_broken(self) -> bool:
        return self.trace_length is not None

    @property
    def result(self) -> Annotated[ClaimVerdict, "the claim's result"]:
        """Return the result; `untested` if no run tested the claim."""
        if self.is_broken:
            return "violated"
        if self.kind == "sometimes":
            return "reached" if self.runs else "not-reached"
        if not self.judged:
            return "not-judged"
        return "untested" if self.premise_runs == 0 else "not-violated"


@frozen(kw_only=True)
class Simulation:
    """The result of random runs."""

    world: Annotated[str, "the world's name"]
    result: Annotated[Literal["violated", "not-violated"], "`not-violated` is not a proof"]
    seed: Annotated[Count, "the same seed gives the same runs"]
    runs: Annotated[Count, "runs taken; fewer than `runs_wanted` if a limit came first"]
    runs_wanted: Annotated[Count, "runs asked for"]
    steps_max: Annotated[Count, "the most steps of a run"]
    steps: Annotated[Count, "steps of all runs"]
    longest: Annotated[Count, "steps of the longest run"]
    rested: Annotated[Count, "runs that ended because no step could change the state"]
    distinct: Annotated[Count, "distinct states met"]
    states: Annotated[
        Count | None, "all states that runs can reach; null: unknown (--of-all counts them)"
    ] = None
    calls: Annotated[Count, "calls of members' code"]
    seconds: Annotated[Seconds, "by the clock"]
    members: Annotated[Count, "members of the world, all kinds together"]
    claims: Annotated[tuple[SimulatedClaim, ...], Key("properties"), "every claim"]
    coverage: Annotated[Coverage, "The coverage."]
    trace: Annotated[Trace | None, Merged(optional=True)] = None
    stopped_by: Annotated[str, "the limit that ended the runs early, or empty"] = ""
    notes: Annotated[tuple[str, ...], "what a simulation does not say"] = field(default=(NO_PROOF,))


@frozen
class Stride:
    """The progress of a simulation."""

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
    count_max: int | None = 0,
    progress: Callable[[Stride], None] | None = None,
) -> Simulation:
    """Return the result of `runs` random runs of at most `steps_max` steps each.

    All steps that change the state are equally likely.  A run ends where it breaks an `always` or a
    claim about steps.  `count_max`: search all states as well, if there are at most this many (None
    means however many), to say which part of them the runs met.  That is unknown if the search does
    not end within `memory_max_bytes`, or if the world has `within` or `same`.
    Raises `ModelProblem` for a model that cannot be explored.
    """
    from joinproto.check.engine.runs.coverage import coverage_of
    from joinproto.check.engine.runs.walks import Walker
    from joinproto.check.memory import MemoryLimitMet

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
    except (MemoryLimitMet, MemoryError):
        stopped_by = "the memory limit"
    walker.search.tables.codes.ask_again()
    found = walker.found
    claims = tuple(_claim(item, found) for item in world.properties)
    trace = None
    notes: tuple[str, ...] = (NO_PROOF,)
    # The shortest; of equally short ones, that of the claim named first.
    for claim in sorted(claims, key=lambda claim: (not claim.is_broken, claim.trace_length or 0)):
        if claim.is_broken:
            initial, steps, note = walker.retrace(found.broken[claim.name])
            notes += (note,) if note else ()
            trace = with_pictures(world, Trace(claim.name, claim.kind, initial, steps))
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
        states=_count_of(world, memory_max_bytes, walker.distinct, count_max),
        calls=walker.search.tables.codes.calls,
        seconds=time.perf_counter() - began,
        members=world.size,
        claims=claims,
        # The same report as of a search, about the drawn runs.
        coverage=coverage_of(walker.search),
        trace=trace,
        stopped_by=stopped_by,
        notes=notes,
    )


def _count_of(
    world: World, memory_max_bytes: int | None, met: int, count_max: int | None
) -> int | None:
    """Return how many states runs can reach, None if that is unknown or more than `count_max`.

    `met`: how many states the runs reached.
    """
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.stopping import Limits

    too_many = count_max is not None and met > count_max
    if too_many or world.within is not None or world.same is not None:
        return None
    limits = Limits(states=count_max, memory_bytes=memory_max_bytes)
    search = Search(world, limits=limits, stop_at_violation=False)
    return None if search.run().stopped_by else search.states.count


def _claim(item: Property, found: Any) -> SimulatedClaim:
    name = item.name
    broken = found.broken.get(name)
    can_break = item.kind in BREAKABLE
    return SimulatedClaim(
        name,
        item.kind,
        (found.runs_broken if can_break else found.reached).get(name, 0),
        None if item.premise is None else found.premise.get(name, 0),
        None if broken is None else len(broken.infos),
        judged=can_break or item.kind == "sometimes",
    )
