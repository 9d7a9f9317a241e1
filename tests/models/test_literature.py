"""The examples from the literature are ordinary model files, as a user writes them."""

from __future__ import annotations

from importlib import import_module

import pytest

from joinproto.check.catalogue import load, parameters
from joinproto.check.entry import Entry
from joinproto.check.reference import Reference
from joinproto_worlds.entries import ENTRIES, family_of

OF_BOOKS = [
    one for one in ENTRIES if family_of(one) in ("classics", "fair", "zen") and not one.given
]


@pytest.mark.parametrize("entry", OF_BOOKS, ids=[one.name for one in OF_BOOKS])
def test_an_example_is_loaded_from_its_file_as_well(entry: Entry) -> None:
    """Members, claims and first states are the same as those of the world found by its name."""
    file = import_module(entry.build.partition(":")[0]).__file__
    size = {"members": entry.usual} if "members" in parameters(entry) else {}

    by_file, by_name = load(f"{file}", size).world, load(entry.name, {}).world

    assert [*by_name.members] == [*by_file.members]
    assert [one.name for one in by_name.properties] == [one.name for one in by_file.properties]
    texts = [
        [reference.states_text(state) for state in reference.initials()]
        for reference in (Reference(by_name), Reference(by_file))
    ]
    assert texts[0] == texts[1]
