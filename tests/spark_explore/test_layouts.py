"""Spare bits in rows of files: they cost no word, and most of them are for fields that grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_explore.layouts import roomy


def numbered(counts: list[int], slots: int) -> Any:
    """Return the tables of a layout; the last field is that of the environment."""
    return SimpleNamespace(
        value_counts=lambda: counts,
        slots=slots,
        set_network=True,
        fields=len(counts),
        env_field=len(counts) - 1,
        layout=SimpleNamespace(words=1),
    )


@pytest.mark.parametrize(("members", "known", "most"), [(9, 176, 514), (12, 158, 4098)])
def test_two_phase_commit_is_packed_once(members: int, known: int, most: int) -> None:
    """This holds for twelve members, too: the manager's values grow, and a member gets one more.

    `known`: the manager's values when Spark takes over.  `most`: when the search ends.
    """
    before = [3] * members
    tables = numbered([*before, known, 1], members + 1)

    found = roomy(tables, [*before, known // 3, 1])

    assert 1 == found.words
    assert found.capacity >= members + 2
    for field, width in enumerate(found.widths):
        values = 1 if field > members else most if field == members else 4
        assert values <= 1 << width
