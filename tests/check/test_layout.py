"""The layout of a row when its fields grow; and `collected_seldom`."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check.engine.rows.layout import WIDTH_MAX, Layout
from joinproto.check.memory import collected_seldom

counts = st.lists(st.integers(1, 1 << 14), min_size=1, max_size=8)


@given(counts)
def test_fields_share_all_bits_that_are_left(before: list[int]) -> None:
    """A row has the fewest words, and no room for one more bit in each field."""
    least = Layout([(count - 1).bit_length() for count in before], 0)

    found = Layout([0] * len(before), 0).grown(before)

    assert all(count <= 1 << width for count, width in zip(before, found.widths, strict=True))
    assert found.words == least.words
    wider = Layout([width + 1 for width in found.widths], 0, found.words)
    assert wider.words > found.words or max(found.widths) == WIDTH_MAX


@given(st.data(), counts)
def test_rows_keep_their_values_when_one_field_takes_the_spare_bits(
    data: st.DataObject, before: list[int]
) -> None:
    """One field grows so far that it needs the other fields' spare bits; all values stay."""
    old = Layout([0] * len(before), 0).grown(before)
    values = [data.draw(st.integers(0, count - 1)) for count in before]
    rows = old.pack(np.array(values), []).reshape(1, -1)
    after = [before[0] << 12, *before[1:]]

    new = old.grown(after)

    assert new.fields(new.repack(rows, 1, old, 0)[0]) == values


def test_collected_seldom_raises_the_threshold_and_restores_it() -> None:
    """The program's threshold is restored afterwards; if collection is off, it stays off."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(500, 7, 9)
        with collected_seldom():
            assert gc.get_threshold() == (500_000, 7, 9)
        assert gc.get_threshold() == (500, 7, 9)
        gc.set_threshold(0)
        with collected_seldom():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
