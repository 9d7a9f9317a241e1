"""The worlds of discovery: their sizes, and the claims that break."""

from __future__ import annotations

import pytest

from joinproto_worlds.discovery.entries import ENTRIES
from tests.census import ended, searched, weight

COUNTS = {
    "discovery-patient": (1_025, 2_397, 13),
    "discovery-seed-node": (94, 176, 10),
    "discovery-locked": (61, 61, 13),
    "discovery-ours": (216, 829, 11),
    "discovery-ours-wiped": (588, 1_962, 15),
    "discovery-ours-too-many": (162, 514, 10),
    "discovery-ours-five": (28_644, 184_954, 17),
    "discovery-ours-forgotten": (60, 172, 7),
}
"""Distinct states, steps and depth of the worlds that hold."""

FAILS = {one.name: one.steps for one in ENTRIES if one.expected == "violated"}


def test_every_world_that_holds_has_a_count() -> None:
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=weight(one, "system-worlds")) for one in COUNTS]
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """*One cluster* holds, and a run brings all nodes into one cluster, or refuses one node."""
    assert ("holds", COUNTS[name]) == ended(name)


@pytest.mark.parametrize("name", [name for name, steps in FAILS.items() if steps])
def test_the_shortest_failing_run_of_a_shipped_boot_has_its_pinned_length(name: str) -> None:
    """Each of these worlds is a case that operators had."""
    found = searched(name)

    assert found.properties[0].name in ("one cluster", "no keeper crashes")
    assert "violated" == found.properties[0].result
    assert found.trace is not None
    assert FAILS[name] == len(found.trace.steps)


def test_nodes_that_search_before_any_has_registered_never_form_one_cluster_of_all() -> None:
    """By the rules of 3.13 no run brings all nodes into one cluster, or forms two clusters."""
    found = searched("discovery-late-record")

    assert ["holds", "not-reached"] == [one.result for one in found.properties]


@pytest.mark.parametrize(
    ("name", "mutant", "claim", "steps"),
    [
        ("discovery-ours", "founds-alone", "one cluster", 6),
        ("discovery-ours", "founds-again", "all are in one", None),
        ("discovery-ours-wiped", "any-list", "one cluster", 12),
        ("discovery-ours-too-many", "any-size", "one cluster", 8),
    ],
)
def test_a_world_fails_without_each_of_our_rules(
    name: str, mutant: str, claim: str, steps: int | None
) -> None:
    """Each mutant leaves out one rule: a majority of votes, joining a member that answers, whole
    lists, or no more nodes than expected."""
    found = searched(name, mutant)

    bad = [one.name for one in found.properties if one.result in ("violated", "not-reached")]
    assert [claim] == bad
    assert steps == (None if found.trace is None else len(found.trace.steps))
