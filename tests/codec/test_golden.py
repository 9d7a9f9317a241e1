"""Messages and records of all packages encode to the bytes in `golden/`, and decode from them."""

from __future__ import annotations

import json

import pytest

from tests.codec.drawn import GOLDEN, golden, samples

ALL = samples()


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_of_every_kind_never_change(name: str) -> None:
    """Members of other versions read them, and files of other versions are read."""
    assert (GOLDEN / f"{name}.txt").read_text() == golden(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_of_every_kind_are_read(name: str) -> None:
    """The value that is read equals the written one, unless the bytes lack some of its fields."""
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    for one, line in zip(ALL[name], lines, strict=True):
        data = json.loads(line.partition(" ")[2]).encode("latin-1")

        found = one.read(data)

        assert data == one.write(found)
        assert one.lacks_fields or one.value == found
