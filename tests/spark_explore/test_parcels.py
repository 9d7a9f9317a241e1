"""Rows that are sent arrive unchanged, also through files, which can be removed then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spark_explore import parcels
from spark_explore.origins import Arrivals

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize(("by_files", "packed_bytes"), [(False, 0), (False, 1 << 20), (True, 0)])
def test_rows_arrive_as_they_were_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, packed_bytes: int, *, by_files: bool
) -> None:
    """Bytes are sent in pieces, files whole; rows that are sent twice arrive twice."""
    monkeypatch.setattr(parcels, "_PACKED_BYTES", packed_bytes)
    monkeypatch.setattr(parcels, "_PIECE_BYTES", 1 << 8)
    rows = {
        owner: RANDOM.integers(0, 1 << 63, (70 * owner, 2), dtype=np.uint64) for owner in (1, 2)
    }

    first = list(parcels.sent(rows.items(), tmp_path if by_files else None))
    again = list(parcels.sent(rows.items(), tmp_path if by_files else None))

    for found in (first, again):
        for owner, part in rows.items():
            arrived = [parcels.received(what, 2) for other, what in found if other == owner]
            assert (np.concatenate(arrived) == part).all()
    assert 2 * by_files == len(list(tmp_path.iterdir()))
    parcels.forget(tmp_path)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("packed_bytes", [0, 1 << 20])
def test_rows_that_arrive_through_spark_are_kept_in_a_file(
    monkeypatch: pytest.MonkeyPatch, packed_bytes: int
) -> None:
    """The last two of four words are the source and the step."""
    monkeypatch.setattr(parcels, "_PACKED_BYTES", packed_bytes)
    rows = RANDOM.integers(0, 1 << 40, (500, 4), dtype=np.uint64)
    contents = [content for _, content in parcels.sent([(0, rows)], None)]

    with Arrivals.of((0, ("steps", 7, 4, content)) for content in contents) as arrived:
        ((targets, sources, steps),) = arrived.of_level(7)

    assert (targets == rows[:, :2]).all()
    assert (sources == rows[:, 2]).all()
    assert (steps == rows[:, 3]).all()
