"""Tables (field, row, column) of small numbers: a block for each field, or a hash table if most of
the block would be empty.

The block of a field begins at `off[field]` in `array`, and `stride[field]` is its width: the place
of a cell in the block is `row * stride + column`.  For a hash table, `stride[field]` is minus the
number of its places, and it begins at `off[field]` in `pairs`, where key and content lie side by
side for one access to memory.  An empty cell reads -1, so `fill` must be -1.  A field that grows
large changes from a block to a hash table if the block is nearly empty, and never changes back.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.rows.bits import mix
from joinproto.check.engine.shapes import Block, Column, SmallInts, Table

DENSE_MAX = 1 << 18
"""A block of at most this many places, a megabyte, never becomes a hash table."""

PLACES_PER_CELL_MAX = 8
"""A larger block with more places than this for each filled cell becomes a hash table."""

ASKS_MAX = 1 << 12
"""The most new places that may be taken before `make_room_for_asks` is called again."""


@njit(inline="always")
def place_of(key: Any) -> Any:
    """Return the place to look for a key first, to be taken modulo the size of the hash table."""
    return np.int64(mix(np.uint64(key)) >> np.uint64(24))


# Without reference counting (_nrt), which is atomic and took longer than the work here.
@njit(cache=True, _nrt=False)
def find(grids: Any, field: Any, row: Any, column: Any) -> Any:
    """Return the content of a cell, -1 if it is empty.  `grids`: see `Grids.arrays`."""
    array, off, stride, pairs, _ = grids
    width = stride[field]
    if width > 0:
        return np.int64(array[off[field] + row * width + column])
    key = (np.int64(row) << 32) + np.int64(column) + 1
    # Unsigned, because each index that may be negative needs a further check.
    begin, last = np.uint64(off[field]), np.uint64(-width - 1)
    slot = np.uint64(place_of(key)) & last
    while True:
        there = pairs[begin + slot, 0]
        if there == key:
            return pairs[begin + slot, 1]
        if there == 0:
            return np.int64(-1)
        slot = (slot + np.uint64(1)) & last


@njit(cache=True, _nrt=False)
def mark(grids: Any, field: Any, row: Any, column: Any, content: Any) -> None:
    """Write the content of a cell; a cell that is new in a hash table takes a place."""
    array, off, stride, pairs, used = grids
    width = stride[field]
    if width > 0:
        array[off[field] + row * width + column] = content
        return
    key = (np.int64(row) << 32) + np.int64(column) + 1
    slot = place_of(key) & (-width - 1)
    while pairs[off[field] + slot, 0] != key:
        if pairs[off[field] + slot, 0] == 0:
            pairs[off[field] + slot, 0] = key
            used[field] += 1
            break
        slot = (slot + 1) & (-width - 1)
    pairs[off[field] + slot, 1] = content


@njit(cache=True, _nrt=False)
def _mark_all(grids: Any, rows: Table) -> None:
    for i in range(len(rows)):
        mark(grids, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])


@njit(cache=True, _nrt=False)
def move(old: Table, larger: Table) -> None:
    """Copy a hash table, whose first column holds keys, into a larger, empty hash table."""
    last = len(larger) - 1
    for i in range(len(old)):
        if old[i, 0] == 0:
            continue
        slot = place_of(old[i, 0]) & last
        while larger[slot, 0] != 0:
            slot = (slot + 1) & last
        for part in range(old.shape[1]):
            larger[slot, part] = old[i, part]


def _no_limit(more_bytes: int) -> None:
    return None


class Grids:
    """One table (row, column) of numbers for each field, all in two arrays.

    `rows`, `columns`: the capacity of each field.  `claim(bytes)` is called before memory is
    allocated; if it raises, everything stays unchanged.  From `hold` to `release`, new items wait,
    so that the arrays stay unchanged for other threads.
    """

    def __init__(self, fields: int, fill: int) -> None:
        self.fill = fill
        self.rows = [8] * fields
        self.columns = [8] * fields
        self.off = np.arange(fields, dtype=np.int64) * 64
        self.stride = np.full(fields, 8, np.int64)
        self._is_sparse = False
        self.array: SmallInts = np.full(64 * max(fields, 1), fill, np.int32)
        self.pairs = np.zeros((0, 2), np.int64)
        self.used = np.zeros(max(fields, 1), np.int64)
        self.claim: Callable[[int], None] = _no_limit
        self._held: list[tuple[int, int, int, int]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "claim"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, claim=_no_limit)

    @property
    def bytes_used(self) -> int:
        return self.array.nbytes + self.pairs.nbytes

    # -- room ----------------------------------------------------------------------------

    def make_room(self, field: int, rows: int, columns: int) -> None:
        """Extend the table of `field` to at least this many rows and columns."""
        if rows <= self.rows[field] and columns <= self.columns[field]:
            return
        wide, high = self.columns[field], self.rows[field]
        while high < rows:
            high *= 2
        while wide < columns:
            wide *= 2
        if self.stride[field] > 0:
            content = self._block(field)
            is_set = content != self.fill
            if high * wide > DENSE_MAX and int(is_set.sum()) * PLACES_PER_CELL_MAX < high * wide:
                where = np.argwhere(is_set)
                self._to_hash(field, where, content[is_set])
            else:
                grown = np.full((high, wide), self.fill, np.int32)
                self.claim(2 * self.array.nbytes)
                grown[: content.shape[0], : content.shape[1]] = content
                self._replace(field, grown.ravel(), wide)
        self.rows[field], self.columns[field] = high, wide

    def make_room_for_asks(self) -> None:
        """Grow the hash tables, so that each is at most half full after `ASKS_MAX` new places."""
        for field in range(len(self.rows)):
            capacity = -int(self.stride[field])
            wanted = 2 * (int(self.used[field]) + ASKS_MAX)
            if 0 < capacity < wanted:
                while capacity < wanted:
                    capacity *= 2
                self._grow_hash(field, capacity, self._hash(field))

    def _to_hash(self, field: int, where: Table, content: SmallInts) -> None:
        capacity = 2 * ASKS_MAX
        while capacity < 2 * (len(where) + ASKS_MAX):
            capacity *= 2
        keys = (where[:, 0] << 32) + where[:, 1] + 1
        self._grow_hash(field, capacity, np.stack([keys, content], axis=1))
        self.used[field] = len(keys)

    def _grow_hash(self, field: int, capacity: int, old: Table) -> None:
        self.claim(self.array.nbytes + self.pairs.nbytes + 16 * capacity)
        pairs = np.zeros((capacity, 2), np.int64)
        move(old, pairs)
        self._replace(field, pairs, -capacity)

    def _is_hash(self, field: int) -> bool:
        return bool(self.stride[field] < 0)

    def _hash(self, field: int) -> Table:
        off = int(self.off[field])
        return self.pairs[off : off - int(self.stride[field])]

    def _block(self, field: int) -> Block:
        off, wide = int(self.off[field]), int(self.stride[field])
        return self.array[off : off + self.rows[field] * wide].reshape(-1, wide)

    def _replace(self, field: int, content: Column, stride: int) -> None:
        """Replace the block or hash table of `field`; the others move."""
        blocks: list[Column] = [self.array[:0]]
        hashes: list[Column] = [self.pairs[:0]]
        off = self.off.copy()
        for f in range(len(self.rows)):
            is_hash = stride < 0 if f == field else self._is_hash(f)
            to = hashes if is_hash else blocks
            off[f] = sum(map(len, to))
            if f == field:
                to.append(content)
            else:
                to.append(self._hash(f) if is_hash else self._block(f).ravel())
        self.off = off
        # New arrays, because a worker may still read the old ones.
        self.stride = self.stride.copy()
        self.stride[field] = stride
        self._is_sparse = bool((self.stride < 0).any())
        self.array, self.pairs = np.concatenate(blocks), np.concatenate(hashes)

    # -- content -------------------------------------------------------------------------

    @property
    def sparse(self) -> tuple[Any, ...] | None:
        """`arrays` if some field has a hash table, otherwise None."""
        return self.arrays if self._is_sparse else None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that the compiled loops read and write."""
        return self.array, self.off, self.stride, self.pairs, self.used

    def get(self, field: int, row: int, column: int) -> int:
        """Return the content of a cell."""
        if row >= self.rows[field] or column >= self.columns[field]:
            return self.fill
        return int(find(self.arrays, field, row, column))

    def put(self, field: int, row: int, column: int, content: int) -> None:
        """Write the content of a cell that was asked for, so that there is room for it."""
        if self._held is not None:
            self._held.append((field, row, column, content))
            return
        mark(self.arrays, field, row, column, content)

    @property
    def is_held(self) -> bool:
        return self._held is not None

    def hold(self) -> None:
        """Defer the items written from now on."""
        self._held = []

    def release(self) -> None:
        """Write the deferred items."""
        held, self._held = self._held, None
        if held:
            _mark_all(self.arrays, np.array(held, np.int64))

    def put_all(self, rows: Table) -> None:
        """Write many cells: rows (field, row, column, content)."""
        for begin in range(0, len(rows), ASKS_MAX):
            self.make_room_for_asks()
            _mark_all(self.arrays, rows[begin : begin + ASKS_MAX])

    def _filled(self, field: int) -> Table:
        """Return (row, column, content) of all cells of a field that are not empty."""
        if self._is_hash(field):
            pairs = self._hash(field)
            pairs = pairs[pairs[:, 0] != 0]
            rows, columns = divmod(pairs[:, 0] - 1, 1 << 32)
            found = np.stack([rows, columns, pairs[:, 1]], axis=1)
            return found[found[:, 2] != self.fill]
        block = self._block(field)
        rows, columns = np.nonzero(block != self.fill)
        return np.stack([rows, columns, block[rows, columns]], axis=1)

    def filled(self) -> list[tuple[int, int, int, int]]:
        """Return (field, row, column, content) of all cells that are not empty."""
        fields = range(len(self.rows))
        return [(field, *place) for field in fields for place in self._filled(field).tolist()]

    def some(self, field: int, most: int) -> list[tuple[int, int, int]]:
        """Return (row, column, content) of up to `most` random cells that are not empty."""
        found = self._filled(field)
        picked = random.sample(range(len(found)), min(most, len(found)))
        return [(row, column, content) for row, column, content in found[picked].tolist()]

    def forget(self, content: int) -> None:
        """Empty all cells that hold `content`."""
        self.array[self.array == content] = self.fill
        contents = self.pairs[:, 1]
        contents[contents == content] = self.fill
