"""Keys, owners and sorted sets: rows are never confused, even if they share keys."""

from __future__ import annotations

import numpy as np
import pytest

from joinproto.check.engine.rows.bits import fingerprints
from joinproto.check.engine.rows.merging import sought
from spark_explore import keys as keys_module
from spark_explore.keys import by_owner, keys_of, known, owners_of, padded, unique

RANDOM = np.random.default_rng(7)


def rows_of(count: int, words: int) -> np.ndarray:
    return RANDOM.integers(0, 1 << 63, (count, words), dtype=np.uint64)


@pytest.mark.parametrize("few", [0, 3])
def test_every_row_has_one_owner_and_shares_are_even(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Owners are chosen by a hash; each share differs from the mean by less than a tenth."""
    monkeypatch.setattr(keys_module, "_FEW", few)
    rows = rows_of(30_000, 1)

    parts = dict(by_owner(rows, 3, wide=False))

    assert sorted(np.concatenate(list(parts.values()))[:, 0].tolist()) == sorted(
        rows[:, 0].tolist()
    )
    assert all(9_000 < len(part) < 11_000 for part in parts.values())
    for owner, part in parts.items():
        assert set(owners_of(keys_of(part, wide=False), 3).tolist()) == {owner}


def test_words_of_zeros_at_the_end_change_no_key() -> None:
    """A layout that gets more words does not change files."""
    rows = rows_of(100, 3)

    assert (fingerprints(rows) == fingerprints(padded(rows, 5))).all()
    assert len(set(fingerprints(rows).tolist())) == 100


def test_different_rows_with_the_same_key_are_all_kept() -> None:
    """A fingerprint does not identify a row: copies may not be adjacent, and no row is lost."""
    one, other, third = rows_of(3, 2)
    rows = np.array([one, other, one, third, other, one])
    keys = np.array([5, 5, 5, 9, 5, 5], np.uint64)

    found_keys, found = unique(keys, rows)

    assert [5, 5, 9] == found_keys.tolist()
    assert {tuple(one), tuple(other), tuple(third)} == {tuple(row) for row in found}


def test_a_row_is_known_only_if_all_its_words_are_equal() -> None:
    """All rows with an equal key are compared."""
    run_rows = rows_of(4, 2)
    run = np.array([3, 5, 5, 5], np.uint64)
    stranger = rows_of(1, 2)[0]
    asked = np.array([run_rows[0], run_rows[3], stranger, run_rows[1]])
    keys = np.array([3, 5, 5, 5], np.uint64)

    found = known(keys, asked, run, lambda at: run_rows[at])

    assert [True, True, False, True] == found.tolist()


@pytest.mark.parametrize(("asked", "there"), [(0, 9), (9, 0), (500, 500), (40, 5000), (5000, 40)])
def test_sorted_keys_are_found_at_the_places_of_a_binary_search(asked: int, there: int) -> None:
    """This holds for equal keys and after the end, too."""
    wanted, run = (np.sort(RANDOM.integers(0, 900, n, dtype=np.uint64)) for n in (asked, there))

    assert np.searchsorted(run, wanted).tolist() == sought(wanted, run).tolist()
