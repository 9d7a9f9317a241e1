"""Sorted arrays larger than memory: kept in files, and merged by one range of keys at a time."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import define, field, frozen

from joinproto.check.engine.shapes import Keys, Rows
from spark_explore.keys import keys_of, padded, unique

RANGE_BYTES = 1 << 23
GATHER_BYTES = 1 << 28


def ranges(arrays: Sequence[Keys], words: int = 1) -> Iterator[list[slice]]:
    """Yield, for one range of keys after another, the part of each sorted array in that range.

    A part has at most `RANGE_BYTES` of rows of `words` words, or more if that keeps equal keys
    together.
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
    """Sorted keys and their rows.  `maps`: the memory maps of their files; () if in memory."""

    keys: Keys
    rows: Rows
    maps: tuple[mmap.mmap, ...] = field(default=(), repr=False)

    def stored(self, folder: Path) -> Block:
        """Return the block in files of `folder`, which disappear with their last reader."""
        words = self.rows.shape[1]
        rows, rows_map = _mapped(self.rows, folder)
        if words == 1:
            return Block(rows, rows.reshape(-1, 1), (rows_map,))
        keys, keys_map = _mapped(self.keys, folder)
        return Block(keys, rows.reshape(-1, words), (rows_map, keys_map))

    def release(self) -> None:
        """Free the memory of pages that were read from files; they can be read again."""
        for one in self.maps:
            one.madvise(mmap.MADV_DONTNEED)


def _mapped(array: Keys | Rows, folder: Path) -> tuple[Keys, mmap.mmap]:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(found, np.uint64), found


@define
class BlockBuilder:
    """Makes sorted blocks of arriving rows; all blocks but the last are in files.

    `wide`: rows may have more than one word.
    """

    folder: Path
    wide: bool
    _blocks: list[Block] = field(init=False, factory=list)
    _arrived: list[Rows] = field(init=False, factory=list)
    _size: int = field(init=False, default=0)

    def add(self, rows: Rows) -> None:
        self._arrived.append(rows)
        self._size += rows.nbytes
        if self._size <= GATHER_BYTES:
            return
        block = _joined(self._arrived, wide=self.wide)
        if block.rows.nbytes > GATHER_BYTES // 2:
            self._blocks.append(block.stored(self.folder))
            self._arrived, self._size = [], 0
        else:
            self._arrived, self._size = [block.rows], block.rows.nbytes

    def blocks(self) -> list[Block]:
        return [*self._blocks, _joined(self._arrived, wide=self.wide)]


def merge(blocks: Sequence[Block], words: int) -> Iterator[tuple[Keys, Rows]]:
    """Yield all keys and rows, of `words` words, in the order of the keys, each row once."""
    for parts in ranges([block.keys for block in blocks], words):
        every = [(block.keys[at], block.rows[at]) for block, at in zip(blocks, parts, strict=True)]
        if len(every) == 1:
            keys, rows = every[0]
            yield keys, padded(rows, words)
        else:
            keys = np.concatenate([keys for keys, _ in every])
            yield unique(keys, np.concatenate([padded(rows, words) for _, rows in every]))
        for block in blocks:
            block.release()


def _joined(arrived: Sequence[Rows], *, wide: bool) -> Block:
    words = max((rows.shape[1] for rows in arrived), default=1)
    none = np.zeros((0, words), np.uint64)
    rows = np.concatenate([none, *(padded(rows, words) for rows in arrived)])
    return Block(*unique(keys_of(rows, wide=wide), rows, owned=True))
