"""A bound for a search: states beyond the bound are judged and counted, and have no steps."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joinproto.check import (
    FifoLinks,
    ModelProblem,
    View,
    World,
    always,
    always_step,
    eventually,
    load_world,
    sometimes,
)
from joinproto.check.check import check
from joinproto_worlds.classics.two_phase_commit import Vote
from tests.check.compare import assert_same_report, assert_same_search, explored
from tests.check.random_models import Plan, build, plans
from tests.check.test_bounded_links import speakers
from tests.check.test_same import numbers


def bound_on_phases(most: int) -> Any:
    def within(view: View) -> bool:
        return bool(sum(shown.phase for shown in view.up.values()) <= most)

    return within


@settings(max_examples=15)
@given(plans(), st.integers(0, 3))
def test_a_bound_cuts_both_searches_alike(plan: Plan, most: int) -> None:
    """States, steps, levels, results, shortest runs and the number of states beyond are equal."""
    world = evolve(build(plan), within=bound_on_phases(most))
    found = explored(world, 300)
    assume(found is not None)
    assert found is not None

    assert_same_report(world, assert_same_search(world, found))

    free = [always("any", lambda view: True)]
    assert found.beyond == check(evolve(world, properties=free)).beyond


def with_bounded_messages(most: int) -> World:
    world = evolve(speakers(FifoLinks()), show_links=True)
    return evolve(world, within=lambda view: view.under_way() <= most)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_bound_on_messages_under_way_ends_an_endless_search(most: int) -> None:
    """A state has i and j words on two links, with i + j <= most + 1, and two counts of 0 to 3.

    Not every count is reachable with every i and j, so only an upper bound is asserted.
    """
    world = with_bounded_messages(most)
    report = check(world)

    assert report.beyond > 0
    links = (most + 2) * (most + 3) // 2
    assert report.distinct <= 16 * links
    beyond = always("within", lambda view: view.under_way() <= most + 1)
    assert "holds" == check(evolve(world, properties=[beyond])).result


@pytest.mark.parametrize(
    ("most", "expected"), [(2, ("incomplete", "unknown")), (5, ("violated", "not-reached"))]
)
def test_an_unreached_sometimes_is_unknown_if_the_bound_left_states_out(
    most: int, expected: Any
) -> None:
    """The world counts to 4, so it never reaches 5; a bound of 2 leaves that open."""
    five = sometimes("five", lambda view: view["a"].n == 5)
    report = check(numbers(five, same=None, within=lambda view: view["a"].n < most))

    assert expected == (report.result, report.properties[0].result)


def test_claims_about_steps_are_judged_only_within_the_bound() -> None:
    def began_within(before: View, step: Any, after: View) -> bool:
        return before.under_way() <= 2

    assert (
        "holds"
        == check(
            evolve(with_bounded_messages(2), properties=[always_step("inside", began_within)])
        ).result
    )


def test_claims_about_whole_runs_are_refused_with_a_bound() -> None:
    some_day = eventually("some day", lambda view: True)
    with pytest.raises(ModelProblem, match="about whole runs, and `within` cuts them"):
        evolve(with_bounded_messages(1), properties=[some_day])


def test_a_bound_that_tells_interchangeable_members_apart_is_refused_with_symmetry() -> None:
    """Otherwise a state could be within the bound, and a renamed state beyond."""
    world = load_world("two-phase-commit", members=2)
    one = evolve(world, within=lambda view: view["rm1"] is not Vote.ABORTED)
    every = evolve(world, within=lambda view: Vote.ABORTED not in view.values())

    with pytest.raises(ModelProblem, match=r"within\(view\) changes when members are renamed"):
        check(one, symmetry=True)
    assert check(every, symmetry=True).beyond < check(every).beyond
