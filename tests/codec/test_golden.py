"""Bytes of all systems: today's bytes equal the stored ones, and older ones are read.

The files in `golden/` were made by the version before there was one codec.
"""

from __future__ import annotations

import json

import pytest

from tests.codec.drawn import GOLDEN, drawn, golden

ALL = drawn()


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_of_every_kind_never_change(name: str) -> None:
    """Members of other versions read them, and files of other versions are read."""
    assert (GOLDEN / f"{name}.txt").read_text() == golden(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_of_every_kind_are_read(name: str) -> None:
    """Each gives the written value, or those fields of it that its version has."""
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    for one, line in zip(ALL[name], lines, strict=True):
        data = json.loads(line.partition(" ")[2]).encode("latin-1")

        found = one.read(data)

        assert data == one.write(found)
        assert one.says_less or one.value == found
