"""Blank nodes in random orders, with the shipped clients: one cluster, or a clear refusal.

Source: discovery, D1 to D3.
"""

from __future__ import annotations

import pytest

from joinproto.discovery.boot import Rules
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tools.swarms.discovery import run


def test_every_run_ends_with_one_cluster_or_a_refusal() -> None:
    """A few seeds run here, and many in the soak; some nodes meet a record of a stranger."""
    found = [run(seed, 40) for seed in range(40)]

    assert [""] * len(found) == [one.problem for one in found]
    assert sum(one.rounds for one in found) > 500
    assert any(one.refused for one in found)


def test_runs_of_the_same_seed_are_equal() -> None:
    assert run(3, 40) == run(3, 40)


def test_a_run_with_two_clusters_is_reported() -> None:
    """The shipped rules find two clusters, because no lock is held here."""
    assert any("two clusters" in run(seed, 40, Rules.REAL).problem for seed in range(20))


@pytest.mark.parametrize(
    ("left_out", "seed", "problem"),
    [
        ("founds-alone", 0, "two clusters"),
        ("founds-again", 1, "stuck"),
        ("any-list", 8952, "two clusters"),
        ("any-size", 4, "two clusters"),
    ],
)
def test_the_swarm_finds_a_missing_rule(left_out: str, seed: int, problem: str) -> None:
    with applied(mutation(left_out)):
        assert problem in run(seed, 40).problem


@pytest.mark.soak("system-worlds")
def test_three_thousand_runs_end_with_one_cluster_or_a_refusal() -> None:
    """These seeds are used by no other test."""
    found = [run(seed, 40) for seed in range(10_000, 13_000)]

    assert [""] * len(found) == [one.problem for one in found]
