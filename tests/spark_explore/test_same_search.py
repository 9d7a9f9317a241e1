"""The search on Spark finds the counts, results, coverage and runs of the local search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from joinproto.check import load_world
from joinproto.check.check import check
from spark_explore import frontier
from spark_explore.explore import Plan
from tests.census import QUICK
from tests.check.chosen import CHOSEN
from tests.check.compare import explored
from tests.check.random_models import LIVENESS, SAFETY, build, plans
from tests.check.random_models import Plan as ModelPlan
from tests.spark_explore.compare import FOUND, assert_same, on_spark

SOAK = pytest.mark.soak("spark-worlds")

FIRST = [
    # One world of each network, one with joint steps, a monitor, or liveness, and one that fails.
    ("two-phase-commit", "one-vote-short"),
    ("token-ring-doubled", None),
    ("alternating-bit-overtaken", None),
    ("dining-left-handed", None),
    ("note-hasty-abort", None),
]
CASES = [(*case, 1) for case in FIRST] + [(*case, 2) for case in QUICK if case not in FIRST]
"""Name, mutant, and the size of a frontier from which Spark takes over."""


@pytest.mark.parametrize(
    ("name", "mutant", "seed"),
    [
        pytest.param(
            *case,
            marks=pytest.mark.landing if case[:2] in CHOSEN else SOAK,
        )
        for case in CASES
    ],
)
def test_a_world_is_the_same_on_spark(
    context: Any, name: str, mutant: str | None, seed: int
) -> None:
    """Counts, results, coverage and the shortest run are identical."""
    assert_same(load_world(name, mutant=mutant), context, seed=seed)


@pytest.mark.parametrize("mutant", [None, pytest.param("one-vote-short", marks=SOAK)])
def test_owners_that_are_counted_together_are_counted_once(
    context: Any, monkeypatch: pytest.MonkeyPatch, mutant: str | None
) -> None:
    """With more owners than `OWNERS_APART`, executors add up the counts before they send them."""
    monkeypatch.setattr(frontier, "OWNERS_APART", 4)
    world = load_world("two-phase-commit", members=4, mutant=mutant)
    here, there = check(world), on_spark(world, context, Plan(seed=1, owners=5))

    for name in FOUND:
        assert getattr(here, name) == getattr(there, name), name


@pytest.mark.parametrize(("members", "distinct"), [(5, 8_832)])
def test_two_phase_commit_has_the_states_of_its_closed_form(
    context: Any, members: int, distinct: int
) -> None:
    """2^N + 4^N + 6^N states; rows are packed again, because the first layout is too small."""
    report = assert_same(load_world("two-phase-commit", members=members), context)

    assert distinct == report.distinct == 2**members + 4**members + 6**members


@pytest.mark.parametrize(
    "members",
    [3, 7, *(pytest.param(size, marks=pytest.mark.soak("spark-worlds")) for size in (8, 9))],
)
def test_larger_two_phase_commit_has_the_states_of_its_closed_form(
    context: Any, members: int
) -> None:
    """The local search is handed over to Spark at a frontier of 5,000 states."""
    report = assert_same(load_world("two-phase-commit", members=members), context, seed=5_000)

    assert 2**members + 4**members + 6**members == report.distinct


@SOAK
@settings(
    max_examples=10,
    suppress_health_check=list(HealthCheck),
    # Each try is two searches, one of them on Spark, so smaller examples are not searched.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(plans(kinds=(*SAFETY, *LIVENESS)))
def test_random_models_are_the_same_on_spark(context: Any, plan: ModelPlan) -> None:
    """The models have all features of worlds: each network and fault, joint steps, a monitor."""
    world = build(plan)
    found = explored(world, 600)
    assume(found is not None and found.distinct > 20)

    assert_same(world, context)
