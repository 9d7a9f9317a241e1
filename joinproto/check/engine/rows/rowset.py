"""A set of rows of 64-bit words that keeps their order of arrival.

Rows: uint64, shape (row, word), all in one array that is reserved at once and touched as
it fills.  The hash table next to it is open addressing, at most 70 % full.  With one word
the table holds the row itself; with more it holds the row's number and the top 32 bits of its
hash, and equal means: all words compared.  No row is ever taken for another.

A row is never all zero: its top bit (of word 0) is set when it is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.rows.bits import are_same, hash_of
from joinproto.check.engine.rows.inserting import (
    insert_single,
    insert_wide,
    put_back,
    refill,
    spread,
)
from joinproto.check.engine.rows.marks import NO_MARKS, Marks
from joinproto.check.engine.rows.row_file import RowFiles
from joinproto.check.engine.shapes import Ints, Keys, RowMarks, Rows
from joinproto.check.memory import Budget, TooMany

_RECENT = 1 << 13

_ALL = 1 << 62
"""No end of the rows that one thread may write: there is room for them before."""

_PIECE = 1 << 20
"""This many rows are looked at before it is asked whether memory allows more."""

_ALONE = 1 << 18
"""Slots that are not worth being shared among threads."""


def in_one(begin: int, end: int, call: Callable[[int, int], int]) -> list[int]:
    return [call(begin, end)]


@njit(cache=True)
def _find(candidates: Rows, count: Any, table: Keys, shift: Any, rows: Rows, numbers: Ints) -> None:
    last = np.int64(table.size - 1)
    low = np.uint64(0xFFFFFFFF)
    high = np.uint64(32)
    for i in range(count):
        h = hash_of(candidates, i)
        place = np.int64(h >> shift)
        numbers[i] = -1
        while True:
            entry = table[place]
            if entry == 0:
                break
            if (entry >> high) == (h >> high):
                known = np.int64(entry & low) - 1
                if are_same(rows, known, candidates, i):
                    numbers[i] = known
                    break
            place = (place + 1) & last


class RowSet:
    """`rows[:count]`: the rows in order of arrival.

    `is_direct`: the table holds the rows themselves.  `shift`: a hash without its place's bits.
    `era`: counts how often rows went or were packed again; a row once inserted is there in its era.
    `numbered`: `insert` returns each candidate's row number (always the wide form). `over`: calls a
    function with pieces of begin to end, by several threads or by one. `marks`: which member led to
    the rows of the last two levels. `budget`: how much memory the process may take. `room`: how
    many rows are expected; None reserves what the budget allows.  `files`: where rows lie; None
    means in memory.
    """

    def __init__(
        self,
        words: int,
        budget: Budget,
        *,
        numbered: bool = False,
        room: int | None = None,
        files: RowFiles | None = None,
    ) -> None:
        self.words = words
        self.count = 0
        self.era = 0
        self._budget = budget
        self._numbered = numbered
        self._files = files
        self.is_direct = words == 1 and not numbered
        self.over: Callable[[int, int, Callable[[int, int], int]], list[int]] = in_one
        self._own = np.array([0, _ALL], np.int64)
        self._recent = np.zeros(_RECENT, np.uint64)
        self.marks = Marks()
        self.rows: Rows
        if room is None:
            self.rows = self._reserve(words, 1 << 16)
        else:
            self.rows = np.empty((max(room, 1), words), np.uint64)
        self._reserved: Rows = np.zeros(0, np.uint64)
        self.table = self._reserved
        self._set_table(1 << 12)

    def _reserve(self, words: int, least: int) -> Rows:
        if self._files is not None:
            return self._files.fresh(words, least)
        # Reserved is not used: the kernel gives a page when it is first written.
        room = max(least, min(self._budget.limit_bytes // (8 * words), (1 << 32) - 2))
        while True:
            try:
                return np.empty((room, words), np.uint64)
            except MemoryError:
                if room <= least:
                    raise TooMany from None
                room = max(least, room // 2)

    def _set_table(self, size: int) -> None:
        """Use the first `size` slots (a power of two) of the reserved table, as they are."""
        if size > len(self._reserved):
            room = 1 << max(size, min(self._budget.limit_bytes // 8, 1 << 33)).bit_length() - 1
            while True:
                try:
                    self._reserved = np.zeros(room, np.uint64)
                    break
                except MemoryError:
                    if room <= size:
                        raise TooMany from None
                    room //= 2
        self.table = self._reserved[:size]
        self.shift = np.uint64(64 - (size.bit_length() - 1))

    @property
    def bytes_used(self) -> int:
        """Its bytes in memory; the pages of rows in a file can be reclaimed and are not counted."""
        rows = self.count * self.words * 8 if self._files is None else 0
        return rows + self.table.nbytes

    def room_for(self, more: int) -> None:
        """Make room for `more` rows; not while workers insert (`shared_inserts.py`).

        Raises `TooMany` where memory does not allow it.
        """
        wanted = self.count + more
        self.marks.room_for(wanted)
        if wanted > len(self.rows) and self._files is not None:
            self.rows = self._files.grown(wanted)
        elif wanted > len(self.rows):
            if not self._budget.allows(wanted * self.words * 8):
                raise TooMany
            fresh = self._reserve(self.words, wanted + wanted // 2)
            fresh[: self.count] = self.rows[: self.count]
            self.rows = fresh
        size = self.table.size
        while wanted > size * 0.7:
            size *= 2
        if size == self.table.size:
            return
        if not self._budget.allows((size - self.table.size) * 8):
            # The last rows fit without a larger table, up to 90 % full.
            if wanted <= self.table.size * 0.9:
                return
            raise TooMany
        self._grow_table(size)

    def expect(self, rows: int) -> None:
        """Create the table for this many rows in advance, where memory allows it."""
        size = self.table.size
        while rows > size * 0.7:
            size *= 2
        if self._budget.allows(8 * size):
            with suppress(TooMany):
                self._set_table(size)

    def _grow_table(self, size: int) -> None:
        while size <= len(self._reserved) and self.table.size < size:
            old = self.table.size
            self._set_table(2 * old)
            if not self._spread(old):
                break
        else:
            if self.table.size == size:
                return
        self.table[:] = 0
        self._set_table(size)
        self._refill()

    def _spread(self, old: int) -> bool:
        """Move all to where they belong in a table of twice the size; False: it cannot be done."""
        asides: list[tuple[Rows, int]] = []

        def piece(begin: int, end: int) -> int:
            left = np.empty(1 << 12, np.uint64)
            count = int(spread(self.table, begin, end, self.shift, left, self.is_direct))
            asides.append((left, count))
            return count

        # The upper half moves behind the former one; then its own room is free for the next.
        end = old
        while end > _ALONE:
            self.over(end // 2, end, piece)
            end //= 2
        piece(0, end)
        if any(count < 0 for _, count in asides):
            return False
        for left, count in asides:
            put_back(self.table, self.shift, left, count, self.is_direct)
        return True

    def _refill(self) -> None:
        for begin, end in self.pieces(self.count):
            refill(self.rows, begin, end, self.table, self.shift, self.is_direct)

    def pieces(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of pieces of `count` rows, all of which are to be looked at.

        Between two pieces, pages of files are released if the limit demands it.
        """
        for begin in range(0, count, _PIECE):
            yield begin, min(count, begin + _PIECE)
            self._budget.allows(0)

    def insert(self, candidates: Rows, count: int, via: RowMarks | None = None) -> Ints:
        """Insert `candidates[:count]`, duplicates among them or not, and mark them by `via`.

        Returns their row numbers where the set is `numbered`, else an empty array.
        """
        self.room_for(count)
        self._own[0] = self.count
        numbers = np.empty(count if self._numbered else 0, np.int64)
        self.write(candidates, count, self._own, None, 0, self._recent, via, numbers)
        self.count = int(self._own[0])
        return numbers

    def write(
        self,
        candidates: Rows,
        count: int,
        own: Ints,
        taken: Ints | None,
        stretch: int,
        recent: Keys,
        via: RowMarks | None,
        numbers: Ints,
    ) -> None:
        """Insert rows for which there is room, as `insert_single` and `insert_wide` do."""
        where = (self.table, self.shift, self.rows, own, taken, stretch)
        if self.is_direct:
            insert_single(candidates, count, *where, recent)
            return
        marked = via if via is not None and self.marks.are_kept else NO_MARKS
        marks = (marked, self.marks.found, self.marks.begin)
        insert_wide(candidates, count, *where, *marks, numbers)

    def find(self, candidates: Rows, count: int) -> Ints:
        """Return the row number of each of `candidates[:count]`, -1 where it is not there.

        Only for sets that are `numbered` or wider than one word.
        """
        numbers = np.empty(count, np.int64)
        _find(candidates, count, self.table, self.shift, self.rows, numbers)
        return numbers

    def clear(self) -> None:
        """Forget all rows; the room for them is kept."""
        self.count = 0
        self.era += 1
        self.table[:] = 0
        self._recent[:] = 0

    def another(self, words: int) -> Rows | None:
        """Return room for all rows in another file, for `replace`; None means rows lie in memory.

        The rows there are never changed in place, because a checkpoint may name them.
        """
        return None if self._files is None else self._files.fresh(words, self.count)

    def put_back(self, rows: Rows, count: int) -> None:
        """Take the rows of an earlier set, which had this many."""
        self.rows, self.count = rows, count
        self.expect(count)
        self.room_for(0)
        self._refill()

    def replace(self, rows: Rows, count: int) -> None:
        """Take other rows in the same order (the same states, packed in another way).

        `rows` may be this set's own array, changed in place, or begin the array that `another`
        returned.
        """
        self.words = rows.shape[1]
        self.is_direct = self.words == 1 and not self._numbered
        if self._files is not None:
            self.rows = self._files.opened(self._files.name, self.words)
        elif not np.may_share_memory(rows, self.rows):
            # Given back before the new ones are taken: they need not fit side by side.
            self.rows = np.empty((0, self.words), np.uint64)
            fresh = self._reserve(self.words, max(count, 1 << 16))
            fresh[:count] = rows[:count]
            self.rows = fresh
        self.count = count
        self.era += 1
        self._recent[:] = 0
        self.table[:] = 0
        self._refill()
