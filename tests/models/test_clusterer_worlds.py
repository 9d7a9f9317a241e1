"""The worlds of the Clusterer: their sizes, and the claims that break."""

from __future__ import annotations

import pytest

from joinproto.clusterer.story_reading import story_of
from joinproto.codec.json_form import encoded
from joinproto_worlds.clusterer.entries import ENTRIES
from joinproto_worlds.clusterer.scenes import SCENES, scene
from tests.census import ended, searched, weight

COUNTS = {
    "clusterer-order": (22, 29, 9),
    "clusterer-reading": (3, 3, 3),
    "clusterer-gospel": (114, 174, 15),
    "clusterer-form": (156, 199, 21),
    "clusterer-join": (12, 14, 9),
    "clusterer-rejoin": (140, 190, 18),
    "clusterer-locks": (447, 583, 41),
    "clusterer-leave": (63, 84, 20),
    "clusterer-spread": (140, 175, 19),
    "clusterer-conflict": (21, 22, 7),
    "clusterer-order-of-locks": (911, 1_226, 69),
    "clusterer-late-word": (556, 815, 40),
    "clusterer-late-word-join": (673, 938, 40),
    "clusterer-late-lock": (3_952, 6_685, 43),
    "clusterer-newcomers": (272, 496, 20),
    "clusterer-left-out-starts": (40, 59, 10),
    "clusterer-left-out-apart": (13, 14, 12),
    "clusterer-left-out-gospel": (32, 51, 13),
    "clusterer-left-out-later": (172, 214, 16),
    "clusterer-left-out-since": (199, 247, 20),
    "clusterer-two-ready": (79, 123, 22),
    "clusterer-two-ready-reset": (29, 45, 12),
    "clusterer-splits": (10, 12, 8),
    "clusterer-old-memory": (43, 63, 11),
    "clusterer-paused": (205, 326, 20),
    "clusterer-paused-late": (51, 73, 15),
    "clusterer-paused-stranger": (14, 17, 8),
    "clusterer-hole-1": (12, 14, 9),
    "clusterer-hole-2": (54, 66, 17),
    "clusterer-hole-3": (186, 256, 20),
    "clusterer-hole-4": (186, 256, 20),
    "clusterer-hole-5": (9_066, 18_682, 32),
    "clusterer-hole-6": (43, 51, 14),
    "clusterer-hole-6-circle": (22_917, 54_637, 35),
    "clusterer-hole-6-stranger": (52, 102, 19),
    "clusterer-hole-8": (2_056, 4_636, 24),
    "clusterer-hole-9": (2_897, 8_137, 24),
    "clusterer-hole-10": (267, 329, 30),
    "clusterer-hole-11": (1_819, 4_459, 26),
    "clusterer-hole-12": (959, 1_593, 26),
    "clusterer-hole-7-again": (208, 265, 24),
    "clusterer-form-killed": (11_830, 16_622, 59),
    "clusterer-join-killed": (1_044, 1_348, 47),
    "clusterer-gospel-killed": (6_380, 9_127, 53),
    "clusterer-rejoin-killed": (4_616, 6_923, 57),
    "clusterer-left-out-starts-killed": (2_156, 3_052, 47),
    "clusterer-hole-1-killed": (1_081, 1_418, 47),
    "clusterer-hole-4-killed": (8_690, 12_391, 58),
    "clusterer-hole-7-again-killed": (26_835, 37_132, 78),
    "clusterer-order-power": (1_892, 2_658, 46),
    "clusterer-stop-apart-half-open": (1_150, 2_143, 28),
    "clusterer-rejoin-half-open": (1_086, 2_032, 23),
    "clusterer-spread-half-open": (1_492, 2_606, 24),
    "clusterer-stops": (516, 724, 9),
}
"""Distinct states, steps and depth."""

FAIL = {
    "clusterer-real-hole-1": ("one config, one set of data", 5),
    "clusterer-real-hole-2": ("the data that count survive", 7),
    "clusterer-real-hole-3": ("one config, one set of data", 7),
    "clusterer-real-hole-4": ("one config, one set of data", 7),
    "clusterer-real-hole-5": ("the data that count survive", 20),
    "clusterer-real-hole-6": ("no node crashes", 3),
    "clusterer-real-hole-6-circle": ("no node crashes", 7),
    "clusterer-real-hole-6-stranger": ("one config, one set of data", 15),
    "clusterer-real-hole-9": ("one config, one set of data", 6),
    "clusterer-real-hole-10": ("the data that count survive", 17),
    "clusterer-real-hole-7": ("b knows the config in the end", 4),
    "clusterer-real-hole-8": ("one config, one set of data", 5),
    "clusterer-real-hole-11": ("one config, one set of data", 6),
    "clusterer-real-hole-12": ("one config, one set of data", 9),
    "clusterer-two-sides": ("one config, one set of data", 3),
    "clusterer-hole-7": ("b knows the config in the end", 4),
    "clusterer-real-stops": ("whichever goes has the last write", 5),
}
"""Holes of the shipped rules, and two that ours keep: the claim that fails, and the steps of the
shortest run."""

MUTANTS = {
    "clusterer-order": ("a version never goes down", 4),
    "clusterer-reading": ("all are ready in the end", 6),
    "clusterer-gospel": ("the data that count survive", 8),
    "clusterer-form": ("one node goes first", 12),
    "clusterer-join": ("all are ready in the end", 6),
    "clusterer-rejoin": ("the data that count survive", 7),
    "clusterer-locks": ("one node goes first", 7),
    "clusterer-leave": ("the former cluster hears nothing", 7),
    "clusterer-spread": ("all are ready in the end", 5),
    "clusterer-conflict": ("nothing is stored", 4),
    "clusterer-order-of-locks": ("all are ready in the end", 23),
    "clusterer-late-word": ("the data that count survive", 15),
    "clusterer-late-lock": ("all are ready in the end", 64),
    "clusterer-newcomers": ("all are ready in the end", 18),
    "clusterer-left-out-starts": ("all are ready in the end", 8),
    "clusterer-left-out-apart": ("the data that count survive", 7),
    "clusterer-left-out-gospel": ("one config, one set of data in the end", 7),
    "clusterer-left-out-later": ("the data that count survive", 11),
    "clusterer-left-out-since": ("the data that count survive", 11),
    "clusterer-two-ready": ("b knows a where it has its data", 11),
    "clusterer-two-ready-reset": ("a knows b where it boots with its data", 8),
    "clusterer-old-memory": ("a stays ready", 5),
    "clusterer-paused": ("no broker runs while its node waits", 4),
    "clusterer-paused-late": ("all are ready in the end", 8),
    "clusterer-paused-stranger": ("all are ready in the end", 4),
    "clusterer-hole-11": ("one config, one set of data", 6),
    "clusterer-hole-12": ("one config, one set of data", 12),
    "clusterer-order-power": ("a version never goes down", 5),
    "clusterer-stop-apart-half-open": ("the data that count survive", 16),
    "clusterer-stops": ("whichever goes has the last write", 5),
}
"""A world with a rule left out: the claim that fails, and the steps of the shortest run."""


def test_every_world_has_a_pinned_result() -> None:
    """The world holds, must fail, or has a mutant."""
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()
    assert {one.name for one in ENTRIES if one.expected == "violated"} == FAIL.keys()
    assert {one.name for one in ENTRIES if one.mutants} == MUTANTS.keys()
    assert {one.name: one.steps for one in ENTRIES if one.steps} == {
        name: steps for name, (_, steps) in FAIL.items()
    }


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=weight(name, "system-worlds")) for name in COUNTS],
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Every *sometimes* is reached, too, so each scene comes to rest."""
    assert ("holds", COUNTS[name]) == ended(name)


@pytest.mark.parametrize("name", FAIL)
def test_a_claim_fails_in_each_world_with_a_hole(name: str) -> None:
    """The holes of our own rules are kept by design: the seventh, and two sides."""
    claim, steps = FAIL[name]
    found = searched(name)

    assert claim in [one.name for one in found.properties if one.result == "violated"]
    assert found.trace is not None
    assert steps == len(found.trace.steps)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_world_fails_without_each_rule(name: str) -> None:
    """Each of these worlds has one mutant."""
    claim, steps = MUTANTS[name]
    (mutant,) = next(one.mutants for one in ENTRIES if one.name == name)
    found = searched(name, mutant)

    assert claim in [one.name for one in found.properties if one.result == "violated"]
    assert found.trace is not None
    assert steps == len(found.trace.steps)


@pytest.mark.parametrize("title", SCENES)
def test_a_scene_can_be_read_as_a_story(title: str) -> None:
    """Scenes are written as values, and building a world does not check them."""
    story = scene(title, "ours").story

    assert story == story_of(encoded(story))
