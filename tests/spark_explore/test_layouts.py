"""Spare bits in rows of files: they cost no word, and most of them are for fields that grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_explore.layouts import roomy


def numbered(counts: list[int], slots: int) -> Any:
    """Return tables with these numbers of values; the last field is the environment's."""
    return SimpleNamespace(
        value_counts=lambda: counts,
        slots=slots,
        is_set_network=True,
        fields=len(counts),
        env_field=len(counts) - 1,
        layout=SimpleNamespace(words=1),
    )


@pytest.mark.parametrize(("members", "known", "most"), [(9, 176, 514), (12, 158, 4098)])
def test_the_layout_at_the_handover_has_room_for_the_whole_search(
    members: int, known: int, most: int
) -> None:
    """In two-phase commit the manager gets many more values, and each member one more.

    `known`: the number of the manager's values when Spark takes over.  `most`: at the search's end.
    """
    before = [3] * members
    tables = numbered([*before, known, 1], members + 1)

    found = roomy(tables, [*before, known // 3, 1])

    assert 1 == found.words
    assert found.capacity >= members + 2
    for field, width in enumerate(found.widths):
        values = 1 if field > members else most if field == members else 4
        assert values <= 1 << width
