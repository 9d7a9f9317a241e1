"""The worlds in which `pick` is asked: their sizes, and the claim that breaks without each rule."""

from __future__ import annotations

import pytest

from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.mutations.catalogue import OF_PICK
from tests.census import ended, replayed

WORLDS = [item for item in ENTRIES if item.build == "joinproto_worlds.join.pick:build"]

COUNTS = {
    "join-pick": (117_166, 450_258, 38),
    "join-pick-some": (148_509, 1_290_474, 41),
}
"""Distinct states, steps and depth."""

FAILS = {
    ("join-pick", "picks-the-highest"): ("latest_is_latest", 31),
    ("join-pick", "picks-without-members"): ("nobody_has_more", 8),
    ("join-pick-some", "picks-without-members"): ("nobody_has_more", 12),
    ("join-pick-some", "picks-without-electors"): ("latest_is_latest", 19),
}
"""The claim that breaks without each rule of `pick`, and the number of steps."""


@pytest.mark.soak("join-worlds")
@pytest.mark.parametrize("name", COUNTS)
def test_pick_names_a_store_with_the_latest_data(name: str) -> None:
    """`pick` is asked at any moment about all stores or some: join protocol, section 4."""
    assert ("holds", COUNTS[name]) == ended(name)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            marks=pytest.mark.soak("join-worlds")
            if case[0] == "join-pick" and FAILS[case][1] > 20
            else [],
        )
        for case in FAILS
    ],
)
def test_a_world_fails_without_a_rule_of_pick(case: tuple[str, str]) -> None:
    """The printed run is a run of the real code."""
    name, mutant = case
    trace, run = replayed(name, mutant)

    assert FAILS[name, mutant] == (trace.property, len(trace.steps))
    assert run.violates(trace.property)


def test_every_world_and_every_rule_has_a_pinned_result() -> None:
    """A rule is redundant or not tested if no world fails without it."""
    assert set(COUNTS) == {item.name for item in WORLDS}
    assert set(FAILS) == {(item.name, mutant) for item in WORLDS for mutant in item.mutants}
    assert set(OF_PICK) <= {mutant for _, mutant in FAILS}
