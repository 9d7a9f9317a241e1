"""The worlds of reconciliation: their sizes, and the claims that break."""

from __future__ import annotations

import pytest

from joinproto.check.check import check
from joinproto.machine.world import DAMAGED, Death
from joinproto.reconcile.reading import Key
from joinproto_worlds.reconcile.beside import KEEPER, Act, DaemonWithBroker
from joinproto_worlds.reconcile.beside import build as build_beside
from joinproto_worlds.reconcile.entries import ENTRIES
from joinproto_worlds.reconcile.repair import build
from tests.census import ended, searched, weight

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
    "reconcile-beside": (265, 797, 15),
    "reconcile-learner": (113, 240, 15),
    "reconcile-no-leader": (415, 992, 21),
    "reconcile-late": (1_367, 3_016, 15),
    "reconcile-state-lost": (423, 1_120, 15),
    "reconcile-state-older": (1_488, 4_312, 19),
    "reconcile-power": (2_538, 7_729, 18),
    "reconcile-mass": (1_191, 2_917, 32),
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


def test_every_world_that_holds_has_a_count() -> None:
    """The tests below search some of the other worlds."""
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=weight(name, "system-worlds")) for name in COUNTS],
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Every *sometimes* is reached, too: scenarios One and Two, and a replaced replica."""
    assert ("holds", COUNTS[name]) == ended(name)


def test_the_shipped_rules_fall_below_the_minimum() -> None:
    """These rules remove before they add: two replicas are left; one more loss stops the queue."""
    found = searched("reconcile-below")

    assert ["never below the minimum"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 3 == len(found.trace.steps)
    assert "remove b (Q4 drop a node that left)" in str(found.trace.steps[-1])


def test_a_world_fails_if_a_group_takes_two_changes_at_once() -> None:
    """Majorities of memberships in sequence intersect only if each commits before the next."""
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
        # Incidents of other systems, and defects of the shipped broker.
        ("reconcile-removal", "applies-alone", {STAYS}, 4),
        ("reconcile-restarted", "peer-file", {"who was removed stays out"}, 3),
        ("reconcile-removal", "heard-again", {"who was removed stays out"}, 3),
        ("reconcile-blank", None, {STAYS}, 10),
        ("reconcile-joint", "joint-by-one", {STAYS}, 7),
        ("reconcile-growth", "argument-is-a-pair", {"no more than wanted"}, 3),
        ("reconcile-starved", None, {"it looks"}, 4),
        ("reconcile-two-timers", None, {"one timer"}, 5),
        ("reconcile-three-late", None, {"no action was necessary"}, 20),
        # Our own code with a rule left out: Q1, Q2 twice, Q3, Q4 three times, Q5, Q6.
        ("reconcile-target", "largest-counts", {"no more than wanted"}, 3),
        ("reconcile-clock", "put-off", {"it looks"}, 5),
        ("reconcile-three", "lost-at-once", {"no action was necessary"}, 3),
        ("reconcile-drain", "drained-takes", {"no node in maintenance is given one"}, 3),
        ("reconcile-one", "drops-first", {MINIMUM}, 4),
        ("reconcile-learner", "next-at-once", {MINIMUM}, 8),
        ("reconcile-repair", "stays-listed", {"three run, and one may fail, or none leads"}, 3),
        ("reconcile-mass", "no-limit", {"no node copies more than it may"}, 5),
        (
            "reconcile-mass",
            "quorum-queues-only",
            {"all have what they want", REPAIRED, "in the end all have what they want"},
            None,
        ),
        # The time until a change is tried again is counted from its begin.
        ("reconcile-late", "settles-from-begin", {"nothing is done twice"}, 8),
        # A durable record: a write is synced before any effect that depends on it.
        ("reconcile-power", "unsynced", {"nothing is done twice"}, 9),
        # The source of facts about a broker: its list instead of the leader (incidents 13, 15, 16),
        # or no leader (incident 30).
        ("reconcile-beside", "list-decides", {REPAIRED}, 4),
        (
            "reconcile-learner",
            "list-decides",
            {REPAIRED, "in the end all have what they want"},
            4,
        ),
        ("reconcile-no-leader", "without-leader", {"nothing is begun while no node leads"}, 3),
    ],
)
def test_a_world_fails_with_each_defect_and_without_each_rule(
    name: str, mutant: str | None, claims: set[str], steps: int | None
) -> None:
    """The defects are those of incidents 12 to 16, 23 and 30, among others; each rule Q1 to Q6 is
    left out at least once."""
    found = searched(name, mutant)

    assert "violated" == found.result
    assert claims == {
        one.name for one in found.properties if one.result in ("violated", "not-reached")
    }
    assert found.trace is not None
    assert steps in (None, len(found.trace.steps))


@pytest.mark.soak("system-worlds")
def test_a_new_leader_that_changes_members_at_once_loses_committed_entries() -> None:
    """It must first commit its own entry: otherwise the majorities of two leaders' changes can be
    disjoint."""
    found = searched("reconcile-own-entry", "no-own-entry")

    assert ["who leads has what is committed"] == [
        one.name for one in found.properties if one.result == "violated"
    ]
    assert found.trace is not None
    assert 11 == len(found.trace.steps)


def test_without_a_lost_disk_no_committed_entry_is_lost() -> None:
    """Incident 23 needs a lost disk: replicas that keep their disks keep committed entries."""
    found = check(build(4, restarts=True))

    assert ("holds", 4_070) == (found.result, found.distinct)


def test_a_torn_record_that_reads_as_damaged_loses_a_change_that_was_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A real record is replaced as a whole, so after a torn write the older one is read, as in the
    first run here."""
    acts = _steps_to_a_torn_write()
    assert _played(acts).disk[KEEPER].keys() == {Key("/", "q0")}  # the tool's outcome is unknown

    monkeypatch.setattr("joinproto.machine.world.as_torn", lambda _older: DAMAGED)
    damaged = _played(acts)
    assert damaged.disk[KEEPER] is DAMAGED

    # The operator removes the file, and the new daemon does not know of `add d`.
    for act in (Act("is drained", "d"), Act("starts"), Act("reads"), Act("answers", "q0")):
        assert damaged.enact(act)
    assert (("add", "d"), ("add", "e")) == damaged.groups[0].asked


def _steps_to_a_torn_write() -> list[Act | Death[Act]]:
    """Return steps: the tool for q0 times out; the power fails while q1's intent is written."""
    answers = Act("answers", "q1")
    return [
        Act("reads"),
        Act("answers", "q0"),
        Act("time-out", "q0"),
        Death(answers, 1, tears=True),
    ]


def _played(acts: list[Act | Death[Act]]) -> DaemonWithBroker:
    daemon = build_beside(kinds="qq", crashes=1, tears=1, hangs=1, drains=1).members[KEEPER]()
    assert isinstance(daemon, DaemonWithBroker)
    daemon.start()
    for act in acts:
        assert daemon.enact(act), act
    return daemon
