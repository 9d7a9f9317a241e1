"""The worlds of reconciliation, each with what it shows and how it must end."""

from __future__ import annotations

from models.entry import Entry

BUILD = "models.worlds.reconcile.repair:build"
CLOCK = "models.worlds.reconcile.clock:build"
GROWTH = "models.worlds.reconcile.growth:build"

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
    Entry(
        "reconcile-removal",
        BUILD,
        "an operator removes a replica while another node may be lost; incident 12: applied alone",
        members=(4, 5),
        usual=4,
        mutants=("applies-alone",),
        given={"removes": 1},
    ),
    Entry(
        "reconcile-blank",
        BUILD,
        "incident 23: a member loses its disk and comes back under its name, still a member",
        members=(4, 5),
        usual=4,
        expected="violated",
        steps=9,
        given={"restarts": True, "wipes": 1},
    ),
    Entry(
        "reconcile-growth",
        GROWTH,
        "a queue grows to its target; with the argument compared as a pair, as shipped, beyond it",
        members=(3, 10),
        usual=6,
        mutants=("argument-is-a-pair",),
    ),
    Entry(
        "reconcile-clock",
        CLOCK,
        "nodes that come and go bring the next look forward, never back",
        members=(1, 1),
        usual=1,
    ),
    Entry(
        "reconcile-starved",
        CLOCK,
        "the shipped timer is armed anew by each event: it never looks",
        members=(1, 1),
        usual=1,
        expected="violated",
        steps=4,
        given={"variant": "real"},
    ),
    Entry(
        "reconcile-two-timers",
        CLOCK,
        "an event is handled after the shipped timer has fired: two timers",
        members=(1, 1),
        usual=1,
        expected="violated",
        steps=5,
        given={"variant": "real", "claims": "one"},
    ),
    Entry(
        "reconcile-one-timer",
        CLOCK,
        "the same events leave one timer",
        members=(1, 1),
        usual=1,
        given={"claims": "one"},
    ),
)
