"""Sorted arrays larger than memory: kept in files, and met one range of keys after the other."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen

from spark_explore.keys import Keys, Rows

RANGE_BYTES = 1 << 23


def ranges(arrays: Sequence[Keys], words: int = 1) -> Iterator[list[slice]]:
    """Yield which part of each sorted array lies in one range of keys, one range after the other.

    No range has more of an array than `RANGE_BYTES` of rows of `words`, but for equal keys: these
    are never parted.
    """
    step = max(1, RANGE_BYTES // (8 * words))
    bounds = np.unique(np.concatenate([np.asarray(keys[step::step]) for keys in arrays]))
    ends = [[*np.searchsorted(keys, bounds).tolist(), len(keys)] for keys in arrays]
    begins = [0] * len(arrays)
    for at in zip(*ends, strict=True):
        yield [slice(begin, end) for begin, end in zip(begins, at, strict=True)]
        begins = list(at)


@frozen
class Block:
    """Sorted keys and their rows.  `maps`: of the files in which they lie, if they do."""

    keys: Keys
    rows: Rows
    maps: tuple[mmap.mmap, ...] = field(default=(), repr=False)

    def stored(self, folder: Path) -> Block:
        """Return the same in files of `folder` that go with their last reader."""
        words = self.rows.shape[1]
        rows, rows_map = _mapped(self.rows, folder)
        if words == 1:
            return Block(rows, rows.reshape(-1, 1), (rows_map,))
        keys, keys_map = _mapped(self.keys, folder)
        return Block(keys, rows.reshape(-1, words), (rows_map, keys_map))

    def rest(self) -> None:
        """Give back the memory of what was read; reading it again is possible."""
        for one in self.maps:
            one.madvise(mmap.MADV_DONTNEED)


def _mapped(array: Keys | Rows, folder: Path) -> tuple[Keys, mmap.mmap]:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(found, np.uint64), found
