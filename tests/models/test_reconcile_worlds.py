"""The worlds of reconciliation: what each shows, how large it is, what its mutants miss."""

from __future__ import annotations

import pytest

from models.catalogue import load_world
from models.check import check
from models.worlds.reconcile.entries import ENTRIES

COUNTS = {
    "reconcile-repair": (558, 969, 14),
    "reconcile-seed": (718, 1_333, 12),
    "reconcile-one": (1_582, 2_995, 18),
    "reconcile-two": (16_814, 38_827, 18),
    "reconcile-by-hand": (128_896, 334_085, 17),
    "reconcile-removal": (5_588, 9_781, 19),
    "reconcile-growth": (16, 37, 3),
    "reconcile-clock": (15, 24, 9),
    "reconcile-one-timer": (15, 24, 9),
}
"""Distinct states, steps and depth."""

SLOW = {"reconcile-two", "reconcile-by-hand"}


def test_every_world_is_listed_here() -> None:
    """Counts of those that hold; the others are below."""
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in COUNTS],
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Every *sometimes* is reached, too: scenarios One and Two, a replaced replica."""
    found = check(load_world(name))

    assert "holds" == found.result
    assert COUNTS[name] == (found.distinct, found.generated, found.depth)


def test_the_shipped_rules_fall_below_the_minimum() -> None:
    """Remove, then add: in between two replicas are left, and one more loss stops the queue."""
    found = check(load_world("reconcile-below"))

    assert ["never below the minimum"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 3 == len(found.trace.steps)
    assert "remove b (Q4 drop who left)" in str(found.trace.steps[-1])


def test_a_group_that_takes_two_changes_at_once_is_found() -> None:
    """Consecutive memberships share a majority only if each is committed before the next."""
    found = check(load_world("reconcile-by-hand", mutant="two-changes"))

    assert ["one change at a time"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 2 == len(found.trace.steps)


@pytest.mark.parametrize(
    ("name", "mutant", "claim", "steps"),
    [
        ("reconcile-removal", "applies-alone", "what is committed stays", 4),
        ("reconcile-blank", None, "what is committed stays", 9),
        ("reconcile-growth", "argument-is-a-pair", "no more than wanted", 3),
        ("reconcile-starved", None, "it looks", 4),
        ("reconcile-two-timers", None, "one timer", 5),
    ],
)
def test_each_defect_and_each_rule_left_out_is_found(
    name: str, mutant: str | None, claim: str, steps: int
) -> None:
    """Growth without limit, starvation, two timers; ours has none of them in the same worlds.
    Incident 12, a change that its leader applies alone; 23, a disk that was lost under its name."""
    found = check(load_world(name, mutant=mutant))

    assert [claim] == [one.name for one in found.properties if one.result == "violated"]
    assert found.trace is not None
    assert steps == len(found.trace.steps)
