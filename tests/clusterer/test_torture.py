"""A short storm of faults over real nodes; `tools/torture --system clusterer` has long ones."""

from __future__ import annotations

import re

import pytest

from tools.faults.clusterer import Fleet
from tools.faults.storm import Storm
from tools.faults.storm_clusterer import Clusterer

pytestmark = pytest.mark.soak("nodes")

SECONDS = 12.0


def test_no_message_is_lost_in_a_storm(fleet: Fleet) -> None:
    """No version goes back, the gospel's data are there, and in the end all are ready."""
    storm = Storm(Clusterer(fleet), 3)
    found = storm.run(SECONDS)

    assert () == found.problems
    assert found.facts["configs"] > 3
    assert storm.counts.total() > 2


def test_a_storm_over_nodes_without_a_rule_fails_with_a_reason(fleet: Fleet) -> None:
    """`older-wins`: the cluster does not even form, and each node says why it waits."""
    fleet.mutant = "older-wins"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.faults.clusterer.PATIENCE", 8.0)
        patch.setattr(Fleet.until_ready, "__defaults__", (8.0,))
        found = Storm(Clusterer(fleet), 3).run(SECONDS)

    assert found.problems
    assert "not within 8 s: " in found.problems[0]


def test_a_storm_begins_with_a_gospel_that_only_has_its_name(fleet: Fleet) -> None:
    """`gospel-by-name`: with any seed, every node must have its new data in the end."""
    fleet.mutant = "gospel-by-name"

    found = Storm(Clusterer(fleet), 3).run(kinds=())

    assert re.match("a.* has the data .*, expected ", found.problems[0])
