"""The worlds of hot standby: their sizes, and the claims that break."""

from __future__ import annotations

import pytest

from joinproto.check.check import check
from joinproto.check.entry import Entry
from joinproto_worlds.standby.entries import ENTRIES, HALFWAY
from joinproto_worlds.standby.scenes import build
from tests.census import ended, searched, weight

COUNTS = {
    "standby-start": (105, 135, 14),
    "standby-start-built-in": (175, 257, 14),
    "standby-failover": (85, 112, 10),
    "standby-failback": (764, 1_245, 19),
    "standby-failback-wiped": (2_021, 3_693, 25),
    "standby-failure-in-failback": (144, 402, 15),
    "standby-old-returns": (1_169, 2_874, 19),
    "standby-cut-off": (5_357, 12_198, 26),
    "standby-told-late": (6_617, 15_975, 27),
    "standby-old-serves": (45_943, 135_209, 39),
    "standby-two-promoted": (79_076, 238_756, 35),
    "standby-dropped-built-in": (1_275, 4_173, 22),
    "standby-built-in": (1_181, 3_465, 23),
    "standby-built-in-wiped": (2_626, 7_572, 25),
    "standby-total": (431, 836, 15),
    "standby-left": (2_246, 4_202, 25),
    "standby-continues": (4_585, 9_151, 30),
    "standby-continues-wiped": (10_336, 20_791, 31),
    "standby-stopped": (4_385, 13_376, 25),
    "standby-stopped-dirty": (747, 1_689, 24),
    "standby-total-halfway": (945, 3_507, 16),
    "standby-continues-halfway": (11_641, 32_792, 30),
    "standby-stopped-halfway": (9_948, 45_423, 26),
    "standby-dropped-halfway": (2_887, 20_160, 21),
    "standby-early-halfway": (1_109, 5_048, 18),
    "standby-failover-half-open": (181, 300, 11),
    "standby-failback-half-open": (846, 1_467, 19),
    "standby-old-returns-half-open": (2_341, 5_289, 20),
    "standby-total-half-open": (1_329, 3_186, 17),
    "standby-left-half-open": (4_709, 10_708, 26),
    "standby-cut-off-half-open": (5_849, 13_617, 27),
    "standby-dropped-half-open": (2_507, 7_173, 24),
    "standby-continues-half-open": (5_994, 13_173, 30),
    "standby-declared-alone-power": (121, 159, 10),
    "standby-total-power": (4_440, 25_922, 23),
    "standby-early-power": (1_746, 7_880, 21),
    "standby-dropped-power": (3_769, 26_317, 25),
    "standby-ahead": (5_904, 11_341, 22),
    "standby-wrap": (128, 215, 16),
    "standby-transaction": (16, 18, 6),
    "standby-acknowledged": (16, 18, 6),
    "standby-early": (607, 1_425, 17),
    "standby-shipped-waits": (607, 1_415, 17),
    "standby-bindings": (10, 13, 6),
    "standby-declared": (24, 45, 7),
    "standby-deleted": (138, 226, 17),
    "standby-event-ahead": (1_428, 2_808, 23),
    "standby-replaced": (493, 857, 23),
    "standby-chosen": (13, 16, 8),
    "standby-overtaken": (132, 215, 15),
    "standby-copied": (7, 7, 7),
    "standby-entrance": (9, 13, 4),
}
"""Distinct states, steps and depth of the worlds that hold."""


def with_mark(name: str, *more: object) -> object:
    return pytest.param(name, *more, marks=weight(name, "system-worlds"))


def test_every_world_that_holds_has_a_count() -> None:
    holds = {one.name for one in ENTRIES if one.expected == "holds"}

    assert holds == COUNTS.keys()


@pytest.mark.parametrize("name", [with_mark(name) for name in COUNTS])
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Every *sometimes* is reached, too: a broker takes over, for example."""
    assert ("holds", COUNTS[name]) == ended(name)


BROKEN = [
    pytest.param(one, id=one.name, marks=weight(one.name, "system-worlds"))
    for one in ENTRIES
    if one.expected == "violated" and one.build.endswith("scenes:build")
]


@pytest.mark.parametrize("item", BROKEN)
def test_the_shortest_run_to_a_limit_has_its_pinned_length(item: Entry) -> None:
    """The limits are those of the document's prototype and those of an outside manager."""
    found = searched(item.name)

    assert "violated" == found.result
    assert found.trace is not None
    assert item.steps == len(found.trace.steps)


def test_each_limit_of_the_prototype_has_a_world_that_holds_with_our_rules() -> None:
    """Both worlds have the same scene."""
    scenes = {
        item.given["scene"]
        for item in ENTRIES
        if item.expected == "holds" and "scene" in item.given
    }
    limits = [item for item in ENTRIES if item.name.startswith(("standby-lm", "standby-lc"))]

    assert {f"lm{n}" for n in range(1, 6)} | {f"lc{n}" for n in range(1, 7)} <= {
        item.name.removeprefix("standby-")[:3] for item in limits
    }
    assert {item.given["scene"] for item in limits} <= scenes


MUTANTS = [(item.name, one) for item in ENTRIES for one in item.mutants]
RULES = {
    "H1": "never-a-backup",
    "H2": "no-generations",
    "H3": "promotes-who-catches-up",
    "H4": "drops-unrecorded",
    "H5": "level-at-once",
    "H6": "wiring-unnumbered",
    "H7": "copies-everything",
    "H8": "confirms-early",
    "H9": "by-number",
    "H10": "dirty-serves",
    "H11": "lets-everybody-in",
}


def test_every_rule_has_a_mutant_of_a_world() -> None:
    assert set(RULES.values()) <= {one for item in ENTRIES for one in item.mutants}
    assert [f"H{n}" for n in range(1, 12)] == [*RULES]


@pytest.mark.parametrize(("name", "mutant"), [with_mark(*case) for case in MUTANTS])
def test_a_world_fails_without_each_rule(name: str, mutant: str) -> None:
    """A claim is broken, or a required state is not reached."""
    assert "violated" == searched(name, mutant).result


def test_a_backup_that_copies_from_the_front_need_not_catch_up() -> None:
    """H5: clients put and take messages as fast as the backup copies them."""
    found = searched("standby-chase")

    assert ["it is caught up"] == [one.name for one in found.properties if one.result == "violated"]
    assert found.trace is not None
    assert found.trace.loop_at is not None


@pytest.mark.parametrize("scene", ["total", "continues"])
def test_a_crash_between_two_effects_shows_errors_that_whole_steps_hide(scene: str) -> None:
    """H4: a primary that confirms before it keeps loses messages only if it dies in between."""
    given = HALFWAY[scene]
    found = {
        halfway: check(
            build(mutant="confirms-before-it-keeps", scene=scene, halfway=halfway, **given)
        ).result
        for halfway in (False, True)
    }

    assert {False: "holds", True: "violated"} == found
