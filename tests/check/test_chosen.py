"""The chosen worlds have every feature of the quick worlds, which have the expected results."""

from __future__ import annotations

import pytest

from joinproto.check.catalogue import entry, load_world
from tests.census import QUICK, searched
from tests.check.chosen import CHOSEN, features


def used(cases: list[tuple[str, str | None]]) -> set[str]:
    """Return the features of these worlds."""
    return {
        feature
        for name, mutant in cases
        for feature in features(load_world(name, mutant=mutant), name, mutant)
    }


def test_the_chosen_worlds_have_every_feature_of_the_quick_worlds() -> None:
    """If this fails, add a quick world with the missing feature to `CHOSEN`."""
    assert set() == used(QUICK) - used(CHOSEN)


@pytest.mark.parametrize(("name", "mutant"), QUICK)
def test_a_quick_world_ends_as_its_catalogue_entry_says(name: str, mutant: str | None) -> None:
    """A mutant violates a claim; other worlds have the pinned result and length of the run."""
    item, report = entry(name), searched(name, mutant)

    assert ("violated" if mutant else item.expected) == report.result
    if mutant is None and item.steps is not None:
        assert report.trace is not None
        assert item.steps == len(report.trace.steps)
