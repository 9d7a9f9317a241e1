"""The engine agrees with the slow searches on small random worlds."""

from __future__ import annotations

from collections import Counter

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joinproto.check.check import check
from joinproto.check.replay import Replay
from joinproto.check.report import Report, Trace
from joinproto.check.world import World
from tests.check.compare import assert_same_report, assert_same_search, explored
from tests.check.orbits import normal_in, orbits
from tests.check.random_models import LIVENESS, SAFETY, Plan, build, plans
from tests.check.slow_liveness import Runs, TooLarge, is_fair_lasso
from tests.check.test_bounds import bound_on_phases

STATES_MAX = 600

# Each example takes two searches, one slow; `--hypothesis-profile thorough` runs many more.
fewer_examples = settings(max_examples=settings().max_examples // 2)


@fewer_examples
@given(plans())
def test_the_engine_equals_the_reference_search(plan: Plan) -> None:
    """States, steps, levels, results, shortest runs and coverage are the same."""
    world = build(plan)
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    assert_same_search(world, found)

    assert_same_report(world, found)


@fewer_examples
@given(plans(kinds=LIVENESS))
def test_claims_about_runs_are_judged_as_defined(plan: Plan) -> None:
    """`eventually`, `always_possible` and `no_deadlock` are compared with the slow checker."""
    world = build(plan)
    found = explored(world, 150)
    assume(found is not None)
    assert found is not None

    report = check(world)

    runs = Runs(found)
    for item, result in zip(world.properties, report.properties, strict=True):
        holds = "unknown" if item.name in report.coverage.void else "holds"
        if item.kind == "eventually":
            try:
                broken = runs.avoidable(item)
            except TooLarge:
                continue
            assert ("violated" if broken else holds) == result.result
            if broken:
                assert result.trace is not None
                assert is_fair_lasso(runs, item, result.trace)
            continue
        bad = runs.stuck(item) if item.kind == "no deadlock" else runs.hopeless(item)
        assert ("violated" if bad else holds) == result.result
        if bad:
            assert runs.shortest_to(bad, item.name, item.kind) == result.trace


@fewer_examples
@given(plans(kinds=(*SAFETY, *LIVENESS)))
def test_a_second_check_of_a_world_gives_the_same_report(plan: Plan) -> None:
    """Claims, counts, runs and coverage are equal."""
    world = build(plan)
    one, other = check(world, states_max=STATES_MAX), check(world, states_max=STATES_MAX)

    assert one.properties == other.properties
    assert (one.distinct, one.generated, one.levels) == (
        other.distinct,
        other.generated,
        other.levels,
    )
    assert one.trace == other.trace
    assert one.coverage == other.coverage


@fewer_examples
@given(plans(alike=True), st.none() | st.integers(0, 3))
def test_symmetry_explores_one_state_of_each_orbit(plan: Plan, bound: int | None) -> None:
    """States, levels and steps are counted for one state of each orbit."""
    world = build(plan)
    if bound is not None:
        world = evolve(world, within=bound_on_phases(bound))
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    report = check(world, symmetry=True)

    whole = check(world)
    groups = orbits(found, world.interchangeable, normal=normal_in(found))
    number = {state: at for at, state in enumerate(found.level_of)}
    steps = Counter(source for source, _, _ in found.edges)
    # A violation ends both searches at the end of the same level.
    first = [next(iter(group)) for group in groups]
    first = [state for state in first if found.level_of[state] < len(report.levels)]
    expanded = [
        s for s in first if found.level_of[s] < len(report.levels) - unexpanded_levels(whole)
    ]
    assert len(first) == report.distinct
    assert tuple(sorted(Counter(found.level_of[s] for s in first).items())) == tuple(
        enumerate(report.levels)
    )
    assert 1 + sum(steps[number[state]] for state in expanded) == report.generated
    for one, other in zip(report.properties, whole.properties, strict=True):
        assert (one.name, one.result, one.trace_length) == (
            other.name,
            other.result,
            other.trace_length,
        )
    if report.trace is not None:
        replay_run(world, report.trace)


def unexpanded_levels(report: Report) -> int:
    """Return 1 if the last level was not expanded because a claim broke in it, otherwise 0."""
    return int(any(p.kind == "always" and p.result == "violated" for p in report.properties))


def replay_run(world: World, trace: Trace) -> None:
    """Take the steps of a run again, by their words."""
    replay = Replay(world)
    for step in trace.steps:
        assert step.states == replay.step(step.label, step.member).states
