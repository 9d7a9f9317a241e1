"""Arrays as files: what is written is read again, and a packed array is small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joinproto.check.engine.shapes import Column
from spark_explore import arrays

pytestmark = pytest.mark.needs("pyarrow")

RANDOM = np.random.default_rng(5)
KEYS = np.sort(RANDOM.integers(0, 1 << 40, 100_000, dtype=np.uint64))


@pytest.mark.parametrize(
    "array",
    [
        KEYS,
        KEYS.reshape(-1, 1),
        RANDOM.integers(0, 1 << 64, (5000, 3), dtype=np.uint64),
        RANDOM.integers(-(1 << 63), 1 << 63, 5000, dtype=np.int64),
        np.array([[0, (1 << 64) - 1]], np.uint64),
    ],
    ids=["keys", "rows of one word", "rows of three words", "places", "one row"],
)
def test_an_array_is_unpacked_as_it_was_packed(
    array: Column, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has several row groups, the last of which is shorter."""
    monkeypatch.setattr(arrays, "_GROUP_BYTES", 1 << 15)
    with (tmp_path / "packed").open("wb") as file:
        arrays.pack(array, file)

    arrays.unpack(tmp_path / "packed", tmp_path / "array.npy")

    found = np.load(tmp_path / "array.npy")
    assert (array.dtype, array.shape) == (found.dtype, found.shape)
    assert np.array_equal(array, found)


@pytest.mark.parametrize(
    "array",
    [np.arange(0, 1 << 28, 1 << 10, dtype=np.uint64), RANDOM.integers(0, 9, (9000, 20)).view("u8")],
    ids=["sorted keys", "rows with few values"],
)
def test_a_packed_array_has_less_than_a_tenth_of_its_size(array: Column, tmp_path: Path) -> None:
    with (tmp_path / "packed").open("wb") as file:
        arrays.pack(array, file)

    assert (tmp_path / "packed").stat().st_size < array.nbytes / 10


@pytest.mark.parametrize(
    "array", [KEYS[:2000], RANDOM.integers(0, 9, (2000, 3)).view("u8")], ids=["keys", "rows"]
)
def test_a_flipped_bit_is_noticed(array: Column) -> None:
    """Where it is not refused, it changes nothing."""
    content, refused = arrays.packed(array), 0
    for at in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        try:
            found = arrays.unpacked(bytes(damaged))
        except (ValueError, OSError):
            refused += 1
        else:
            assert (array.dtype, array.shape) == (found.dtype, found.shape)
            assert np.array_equal(array, found), at
    assert refused > len(content) / 4


def test_a_file_that_cannot_be_unpacked_leaves_no_array(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(b"PAR1 not the whole file")

    with pytest.raises(ValueError, match="Parquet"):
        arrays.unpack(tmp_path / "packed", tmp_path / "array.npy")

    assert ["packed"] == [path.name for path in tmp_path.iterdir()]
