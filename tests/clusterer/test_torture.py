"""A short storm over real nodes; `python -m tools.torture_clusterer --minutes 10` is long."""

from __future__ import annotations

import random

import pytest

from tools.faults.clusterer import Fleet
from tools.torture_clusterer import Storm

pytestmark = pytest.mark.soak("nodes")

SECONDS = 12.0


def test_nothing_is_lost_in_a_storm(fleet: Fleet) -> None:
    """No version goes down, the gospel's data are there, and all are ready in the end."""
    found = Storm(fleet, random.Random(3), say=lambda _: None).run(SECONDS)

    assert () == found.problems
    assert found.configs > 3
    assert sum(found.faults.values()) > 10


def test_a_storm_over_nodes_without_a_rule_fails_and_says_why(fleet: Fleet) -> None:
    """`older-wins`: the cluster does not even form, and each node says what it waits for."""
    fleet.mutant = "older-wins"
    storm = Storm(fleet, random.Random(3), say=lambda _: None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.faults.clusterer.PATIENCE", 8.0)
        patch.setattr(Fleet.until_ready, "__defaults__", (8.0,))
        found = storm.run(SECONDS)

    assert found.problems
    assert "never: " in found.problems[0]


def test_a_storm_begins_with_a_gospel_that_only_has_its_name(fleet: Fleet) -> None:
    """`gospel-by-name`: its new data are to be everybody's, with any seed."""
    fleet.mutant = "gospel-by-name"

    found = Storm(fleet, random.Random(3), say=lambda _: None).run(0.0)

    assert "the gospel's data are lost at a" in found.problems[0]
