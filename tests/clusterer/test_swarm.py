"""Nodes as they ship, in random orders of all that happens to them, in virtual time."""

from __future__ import annotations

import pytest

from tools.swarms.clusterer import Found, run

BURSTS = 12


def told(found: Found) -> str:
    return "\n".join([*found.told[-30:], *found.problems, f"seed {found.seed}"])


@pytest.mark.parametrize("seed", range(8))
def test_nodes_come_to_rest_with_one_set_of_data_and_every_message(seed: int) -> None:
    """U1 to U7: killed, cut off, reset and given configs; then all heals, and all are started."""
    found = run(seed, BURSTS)

    assert () == found.problems, told(found)
    assert found.steps > 500


def test_a_run_is_the_same_each_time() -> None:
    """So that what was found can be seen again."""
    one, other = run(3, 4), run(3, 4)

    assert (one.told, one.steps) == (other.told, other.steps)
