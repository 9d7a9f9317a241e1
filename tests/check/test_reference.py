"""The engine finds the same as the slow reference search in each world that is small enough."""

from __future__ import annotations

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.fairness import EACH_STEP
from joinproto.check.properties import ON_FAIR_RUNS, ON_RUNS
from joinproto.check.report import Report
from joinproto.check.world import World
from tests.check.chosen import CHOSEN, REST, parameters
from tests.check.compare import assert_same_report, assert_same_search, shortest
from tests.check.orbits import normal_in, orbits
from tests.check.slow_liveness import Runs, TooLarge, is_fair_lasso
from tests.check.slow_ltl import breaks, is_broken
from tools.slow_search import explore

PRODUCT_MAX = 100

SMALLER = {"paxos-founding": 2, "two-phase-commit": 3}
"""Worlds that are compared with fewer members than usual."""

LARGE: set[tuple[str, str | None]] = {
    ("join-live-shutdown", None),
    ("note-minority-survivor", None),
    ("qpid-minority-survivor", None),
    ("durable-vote-split", None),
    ("clusterer-real-hole-5", None),
    ("clusterer-real-hole-6-circle", None),
    ("discovery-first-day", None),
    ("discovery-ours-too-many", None),
    ("discovery-ours-too-many", "any-size"),
    ("discovery-ours-wiped", None),
    ("discovery-ours-wiped", "any-list"),
    ("reconcile-blank", None),
    ("reconcile-removal", None),
    ("reconcile-removal", "applies-alone"),
}
"""Worlds with many states, or many runs without an end: the slow search takes up to minutes."""

LARGEST: set[tuple[str, str | None]] = {
    ("clusterer-late-lock", None),
    ("clusterer-late-lock", "late-lock-kept"),
    ("clusterer-order-of-locks", None),
    ("clusterer-real-hole-9", None),
    ("clusterer-real-hole-11", None),
    ("reconcile-removal", "heard-again"),
    ("two-phase-commit", None),
}
"""Worlds that each take the slow search 20 seconds to some minutes, with a slice of their own."""

ENDLESS = {
    ("reconcile-learner", "next-at-once"),
    ("clusterer-two-ready-reset", "own-word-lost"),
    ("incident-rabbitmq-first-boot", None),
}
"""Worlds that break in a few steps and are endless or huge; the slow search does not stop."""

FOUNDING = [("paxos-founding", mutant) for mutant in (None, "forgets-accepted", "promise-not-kept")]
OTHERS = [case for case in [*REST, *FOUNDING] if case not in ENDLESS]

WORLDS = [
    *parameters(CHOSEN),
    *parameters(
        [case for case in OTHERS if case not in LARGE | LARGEST], pytest.mark.soak("reference")
    ),
    *parameters(sorted(LARGE, key=str), pytest.mark.soak("reference-large")),
    *parameters(sorted(LARGEST, key=str), pytest.mark.soak("reference-largest")),
]


def small_world(name: str, mutant: str | None) -> World:
    return load_world(name, members=SMALLER.get(name), mutant=mutant)


@pytest.mark.parametrize(("name", "mutant"), WORLDS)
def test_a_world_that_ships_is_the_same_in_both_searches(name: str, mutant: str | None) -> None:
    """States, steps, levels, coverage, results and shortest runs are equal, step by step."""
    world = small_world(name, mutant)
    found = assert_same_search(world)

    report = assert_same_report(world, found)

    if report.result != "violated" or all(p.kind in ON_RUNS for p in report.properties if p.trace):
        assert_same_runs(world, Runs(found), report)


def assert_same_runs(world: World, runs: Runs, report: Report) -> None:
    """Compare claims about whole runs with the slow checker."""
    for item, result in zip(world.properties, report.properties, strict=True):
        if item.kind not in ON_RUNS or item.scope == "step" or result.result == "unknown":
            continue
        if item.kind in ON_FAIR_RUNS and (
            item.kind != "eventually" or world.fairness != (EACH_STEP,)
        ):
            # The product with guesses takes quadratic time, so only small worlds are judged by it.
            if len(runs.states) <= PRODUCT_MAX:
                assert is_broken(runs.found, item) is (result.result == "violated")
            if result.trace is not None:
                assert breaks(runs.found, item, result.trace)
            continue
        if item.kind == "eventually":
            try:
                broken = runs.avoidable(item)
            except TooLarge:
                continue
            assert ("violated" if broken else "holds") == result.result
            if result.trace is not None:
                assert is_fair_lasso(runs, item, result.trace)
            continue
        bad = runs.stuck(item) if item.kind == "no deadlock" else runs.hopeless(item)
        assert ("violated" if bad else "holds") == result.result
        if bad:
            assert runs.shortest_to(bad, item.name, item.kind) == result.trace


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("two-phase-commit", 2),
        ("two-phase-commit", 3),
        ("durable-vote", 2),
        ("durable-vote", 3),
        ("durable-vote-split", 3),
    ],
)
def test_symmetry_counts_the_orbits_of_the_reference_search(name: str, members: int) -> None:
    """The orbits are found by trying every renaming of every state; one state of each is left."""
    world = load_world(name, members=members)
    found = explore(world)

    report = check(world, symmetry=True)

    groups = orbits(found, world.interchangeable, normal=normal_in(found))
    assert len(groups) == report.distinct
    assert len(found.levels) == report.depth
    assert "holds" == report.result


@pytest.mark.parametrize("mutant", ["no-persist", "answer-first"])
def test_symmetry_finds_a_violation_of_the_same_length(mutant: str) -> None:
    """The shortest run has the same length with and without symmetry."""
    world = load_world("durable-vote", mutant=mutant)

    whole, reduced = check(world), check(world, symmetry=True)

    assert whole.trace is not None
    assert reduced.trace is not None
    assert len(whole.trace.steps) == len(reduced.trace.steps)
    assert reduced.distinct < whole.distinct


def test_a_property_that_never_breaks_has_no_shortest_run() -> None:
    """`shortest` returns None if no state breaks the property."""
    world = load_world("two-phase-commit", members=2)
    found = explore(world)

    (consistent,) = [item for item in world.properties if item.name == "consistent"]

    assert shortest(found, consistent, wanted=False) is None
