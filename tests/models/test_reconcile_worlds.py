"""The worlds of reconciliation: what each shows, how large it is, what its mutants miss."""

from __future__ import annotations

import pytest

from joinproto.check.check import check
from joinproto_worlds.reconcile.entries import ENTRIES
from joinproto_worlds.reconcile.repair import build
from tests.census import searched, weight

COUNTS = {
    "reconcile-repair": (966, 1_549, 17),
    "reconcile-seed": (718, 1_333, 12),
    "reconcile-one": (1_990, 3_983, 18),
    "reconcile-two": (26_916, 58_195, 20),
    "reconcile-by-hand": (128_896, 334_085, 17),
    "reconcile-removal": (10_886, 17_735, 22),
    "reconcile-restarted": (57_741, 117_020, 23),
    "reconcile-own-entry": (453_572, 1_244_429, 24),
    "reconcile-joint": (914, 1_491, 15),
    "reconcile-partition": (8_766, 19_595, 17),
    "reconcile-repaired": (156, 224, 13),
    "reconcile-drain": (2_304, 6_211, 17),
    "reconcile-beside": (89, 165, 12),
    "reconcile-learner": (27, 40, 11),
    "reconcile-no-leader": (102, 179, 15),
    "reconcile-late": (209, 470, 12),
    "reconcile-state-lost": (160, 310, 14),
    "reconcile-state-older": (479, 1_012, 15),
    "reconcile-mass": (1_041, 2_819, 25),
    "reconcile-growth": (16, 37, 3),
    "reconcile-target": (3, 13, 3),
    "reconcile-one-timed": (33, 46, 15),
    "reconcile-one-timed-seed": (113, 126, 21),
    "reconcile-two-timed": (4_288, 5_393, 47),
    "reconcile-two-timed-seed": (13_463, 18_241, 48),
    "reconcile-three": (40, 61, 26),
    "reconcile-three-seed": (103, 124, 12),
    "reconcile-clock": (15, 24, 9),
    "reconcile-one-timer": (15, 24, 9),
}
"""Distinct states, steps and depth."""


def test_every_world_is_listed_here() -> None:
    """Counts of those that hold; the others are below."""
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=weight(name, "system-worlds")) for name in COUNTS],
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Every *sometimes* is reached, too: scenarios One and Two, a replaced replica."""
    found = searched(name)

    assert "holds" == found.result
    assert COUNTS[name] == (found.distinct, found.generated, found.depth)


def test_the_shipped_rules_fall_below_the_minimum() -> None:
    """Remove, then add: in between two replicas are left, and one more loss stops the queue."""
    found = searched("reconcile-below")

    assert ["never below the minimum"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 3 == len(found.trace.steps)
    assert "remove b (Q4 drop a node that left)" in str(found.trace.steps[-1])


def test_a_group_that_takes_two_changes_at_once_is_found() -> None:
    """Consecutive memberships share a majority only if each is committed before the next."""
    found = searched("reconcile-by-hand", "two-changes")

    assert ["one change at a time"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 2 == len(found.trace.steps)


STAYS, MINIMUM = "what is committed stays", "never below the minimum"
REPAIRED = "each that can be repaired is"


@pytest.mark.parametrize(
    ("name", "mutant", "claims", "steps"),
    [
        # Incidents of others, and defects of the shipped broker.
        ("reconcile-removal", "applies-alone", {STAYS}, 4),
        ("reconcile-restarted", "peer-file", {"who was removed stays out"}, 3),
        ("reconcile-removal", "heard-again", {"who was removed stays out"}, 3),
        ("reconcile-blank", None, {STAYS}, 10),
        ("reconcile-joint", "joint-by-one", {STAYS}, 7),
        ("reconcile-growth", "argument-is-a-pair", {"no more than wanted"}, 3),
        ("reconcile-starved", None, {"it looks"}, 4),
        ("reconcile-two-timers", None, {"one timer"}, 5),
        ("reconcile-three-late", None, {"no action was necessary"}, 20),
        # Our own code with a rule left out: Q1, Q2, Q2, Q3, Q4 thrice, Q5, Q6.
        ("reconcile-target", "largest-counts", {"no more than wanted"}, 3),
        ("reconcile-clock", "put-off", {"it looks"}, 5),
        ("reconcile-three", "lost-at-once", {"no action was necessary"}, 3),
        ("reconcile-drain", "drained-takes", {"no node in maintenance is given one"}, 3),
        ("reconcile-one", "drops-first", {MINIMUM}, 4),
        ("reconcile-learner", "next-at-once", {MINIMUM}, 6),
        ("reconcile-repair", "stays-listed", {"three run, and one may fail, or none leads"}, 3),
        ("reconcile-mass", "no-limit", {"no node copies more than it may"}, 2),
        (
            "reconcile-mass",
            "quorum-queues-only",
            {"all have what they want", REPAIRED, "in the end all have what they want"},
            None,
        ),
        ("reconcile-late", "settles-from-begin", {"nothing is done twice"}, 8),
        # What is read of a broker: the list instead of the leader (13, 15, 16), no leader (30).
        ("reconcile-beside", "list-decides", {REPAIRED}, 4),
        (
            "reconcile-learner",
            "list-decides",
            {REPAIRED, "in the end all have what they want"},
            4,
        ),
        ("reconcile-no-leader", "without-leader", {"nothing is begun while no node leads"}, 2),
    ],
)
def test_each_defect_and_each_rule_left_out_is_found(
    name: str, mutant: str | None, claims: set[str], steps: int | None
) -> None:
    """Growth without limit, starvation, two timers; ours has none of them in the same worlds.
    Each rule Q1 to Q6 is left out of the shipped code once; incidents 12 to 16, 23 and 30."""
    found = searched(name, mutant)

    assert "violated" == found.result
    assert claims == {
        one.name for one in found.properties if one.result in ("violated", "not-reached")
    }
    assert found.trace is not None
    assert steps in (None, len(found.trace.steps))


@pytest.mark.soak("system-worlds")
def test_a_change_before_an_entry_of_ones_own_loses_what_is_committed() -> None:
    """The first rule of single changes: two leaders change one membership, and need not meet."""
    found = searched("reconcile-own-entry", "no-own-entry")

    assert ["who leads has what is committed"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 11 == len(found.trace.steps)


def test_without_the_lost_disk_nothing_is_lost() -> None:
    """Incident 23 is the disk's: replicas that come back with theirs keep what was committed."""
    found = check(build(4, restarts=True))

    assert ("holds", 4_070) == (found.result, found.distinct)
