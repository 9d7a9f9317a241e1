"""The worlds of reconciliation, each with what it shows and how it must end."""

from __future__ import annotations

from models.entry import Entry

BUILD = "models.worlds.reconcile.repair:build"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "reconcile-repair",
        BUILD,
        "one of three replicas is lost for good and replaced, whoever leads",
        members=(4, 5),
        usual=4,
    ),
    Entry(
        "reconcile-seed",
        BUILD,
        "the same by the design's own table",
        members=(4, 5),
        usual=4,
        given={"variant": "seed"},
    ),
    Entry(
        "reconcile-one",
        BUILD,
        "scenario One: the lost node is removed from the cluster; added first, then dropped",
        members=(5, 5),
        usual=5,
        given={"forgets": 1},
    ),
    Entry(
        "reconcile-below",
        BUILD,
        "the shipped rules drop a replica before another one is there: below the minimum",
        members=(5, 5),
        usual=5,
        expected="violated",
        steps=3,
        given={"forgets": 1, "variant": "real", "auto_remove": True},
    ),
    Entry(
        "reconcile-two",
        BUILD,
        "scenario Two: an operator adds a replica at the same moment",
        members=(5, 5),
        usual=5,
        tier="long",
        given={"adds": 1},
    ),
    Entry(
        "reconcile-by-hand",
        BUILD,
        "two changes by hand, and elections: the group takes one at a time",
        members=(5, 5),
        usual=5,
        tier="long",
        mutants=("two-changes",),
        given={"adds": 2, "crashes": 0},
    ),
)
