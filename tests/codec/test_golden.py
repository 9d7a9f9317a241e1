"""Messages and records of all packages are written as the stored bytes, and read from them.

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
    """Reading gives the written value, or those of its fields that the bytes have."""
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    for one, line in zip(ALL[name], lines, strict=True):
        data = json.loads(line.partition(" ")[2]).encode("latin-1")

        found = one.read(data)

        assert data == one.write(found)
        assert one.says_less or one.value == found
