"""The worlds of hot standby: what each shows, how large it is, what its mutants miss."""

from __future__ import annotations

import pytest

from models.catalogue import load_world
from models.check import check
from models.worlds.standby.entries import ENTRIES

COUNTS = {
    "standby-built-in": (2_045, 3_589, 18),
    "standby-built-in-three": (17_264, 32_953, 20),
    "standby-waits": (10_283, 19_321, 18),
    "standby-shipped-waits": (8_129, 17_335, 18),
}
"""Distinct states, steps and depth of those that hold."""


def weighed(name: str) -> object:
    return pytest.param(name, marks=[] if name == "standby-built-in" else [pytest.mark.slow])


def test_every_world_that_holds_is_listed_here() -> None:
    assert {one.name for one in ENTRIES if one.expected == "holds"} == COUNTS.keys()


@pytest.mark.parametrize("name", [weighed(name) for name in COUNTS])
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """Beside *nothing is lost*: a second primary takes over what was confirmed."""
    found = check(load_world(name))

    assert "holds" == found.result
    assert COUNTS[name] == (found.distinct, found.generated, found.depth)


@pytest.mark.parametrize(
    ("name", "mutant", "steps"),
    [
        ("standby-outside", None, 7),
        pytest.param("standby-confirms-at-once", None, 14, marks=pytest.mark.slow),
        pytest.param("standby-dropped", None, 15, marks=pytest.mark.slow),
        pytest.param("standby-waits", "promotes-who-catches-up", 8, marks=pytest.mark.slow),
        pytest.param("standby-waits", "confirms-at-once", 14, marks=pytest.mark.slow),
    ],
)
def test_what_was_confirmed_is_lost_in_the_shortest_run(
    name: str, mutant: str | None, steps: int
) -> None:
    """A blank broker, LM5, a dropped one; and who catches up, where nobody refuses it."""
    found = check(load_world(name, mutant=mutant))

    assert ["nothing is lost"] == [one.name for one in found.properties if one.result == "violated"]
    assert found.trace is not None
    assert steps == len(found.trace.steps)
