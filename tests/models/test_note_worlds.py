"""The note's worlds: their sizes and their shortest failing runs."""

from __future__ import annotations

import pytest

from joinproto.check.entry import Entry
from joinproto.reference.note.machine import note_arrows
from joinproto.reference.note.readings import READINGS
from joinproto.reference.qpid.machine import qpid_arrows
from joinproto_worlds.entries import ENTRIES
from tests.census import replayed, searched

NOTE = [item for item in ENTRIES if item.build == "joinproto_worlds.note.world:build"]

DISTINCT = {
    "note-wait-for-n": 21,
    "note-options": 7,
    "note-founding": 9,
    "note-foreign-store": 7,
    "note-clean-stores-differ": 7,
    "note-manual-recovery": 7,
    "note-restart": 13,
    "note-joining": 75,
    "note-wrong-store": 14,
    "note-orderly-shutdown": 51,
    "note-rejoin": 46,
    "note-latest-mark": 14,
    "note-options-joining": 16,
    "note-leaving": 89,
    "qpid-founding": 650,
    "qpid-transient": 10,
    "qpid-mixed": 7,
    "qpid-foreign-store": 7,
    "qpid-two-marks": 25,
    "note-partition": 35,
    "note-lone-restart": 150,
    "note-silent-divergence": 188,
    "note-half-updated": 45,
    "note-unfinished-update": 194,
    "note-minority-survivor": 1_113,
    "note-serving-before-i8": 5,
    "note-hasty-abort": 39,
    "note-never-dirty": 12,
    "note-wrong-mark": 24,
    "qpid-lowest-id": 5,
    "qpid-minority-survivor": 39_903,
    "qpid-half-updated": 15,
    "qpid-serves-early": 5,
    "qpid-lone-restart": 11,
}
"""Distinct states up to the end of the search, or to the end of the level that fails."""


def test_every_world_of_the_note_has_a_pinned_count() -> None:
    assert set(DISTINCT) == {item.name for item in NOTE}


@pytest.mark.parametrize("item", NOTE, ids=lambda item: str(item.name))
def test_a_world_ends_as_its_entry_says_with_its_pinned_size(item: Entry) -> None:
    found = searched(item.name)

    assert item.expected == found.result
    assert DISTINCT[item.name] == found.distinct
    assert item.steps == (None if found.trace is None else len(found.trace.steps))


MUTANTS = [(item.name, mutant) for item in NOTE for mutant in item.mutants]


@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_world_fails_without_its_rule(name: str, mutant: str) -> None:
    """Otherwise the world does not test the rule."""
    assert searched(name, mutant).result == "violated"


@pytest.mark.parametrize("rule", ["I1", "I2", "I4", "I5", "I6", "I7", "J2", "J3"])
def test_each_rule_is_left_out_in_a_world(rule: str) -> None:
    assert f"without-{rule}" in {mutant for _, mutant in MUTANTS}


@pytest.mark.parametrize("name", [item.name for item in NOTE if item.steps is not None])
def test_a_failing_run_replays_in_the_member_code(name: str) -> None:
    trace, run = replayed(name)

    if trace.kind == "always":
        assert run.violates(trace.property)


def _taken() -> set[str]:
    taken: set[str] = set()
    for item in NOTE:
        taken |= {rule for rule, count in searched(item.name).coverage.rules.items() if count}
    return taken


UNTAKEN = {
    # In a world, a mark without an effect is not a step.
    "note-mark: R3 clean already",
    "note-mark: silent no store that could be the latest",
    "qpid-marking: L1 no store",
}


def test_every_case_of_every_table_of_the_note_is_taken_in_some_world() -> None:
    """No search checks a case that no world takes."""
    cases = {
        f"{arrow.table.name}: {case.label} {case.name}"
        for reading in READINGS.values()
        for arrow in note_arrows(reading)
        for case in arrow.table.cases
    }

    assert sorted(cases - _taken() - UNTAKEN) == []


def test_every_case_of_every_table_of_qpid_is_taken_in_some_world() -> None:
    cases = {
        f"{arrow.table.name}: {case.label} {case.name}"
        for arrow in qpid_arrows()
        for case in arrow.table.cases
    }

    assert sorted(cases - _taken() - UNTAKEN) == []
