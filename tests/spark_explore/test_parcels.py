"""Rows that are sent arrive unchanged, also through files, which can be removed then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spark_explore import parcels

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
