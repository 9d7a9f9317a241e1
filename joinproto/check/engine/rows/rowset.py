"""A set of rows of 64-bit words that keeps their order of arrival.

Rows: uint64, shape (row, word), all in one array that is reserved at once and takes memory as it
fills.  The hash table uses open addressing and is at most 70 % full, or 90 % where memory allows no
larger table.  If rows have one word, the table holds the rows themselves.  Otherwise it holds the
number of each row and the top 32 bits of its hash, and all words of two rows are compared.

A row is never all zero: the top bit of its word 0 is set when it is packed.
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
    put_left,
    refill,
    spread,
)
from joinproto.check.engine.rows.marks import NO_MARKS, Marks
from joinproto.check.engine.rows.row_file import RowFiles
from joinproto.check.engine.shapes import Ints, Keys, RowMarks, Rows
from joinproto.check.memory import Budget, MemoryLimitMet

_RECENT = 1 << 13
"""The size of the table of recent rows, see `insert_single`."""

_ALL = 1 << 62
"""No bound on the rows that a lone thread may write, because `room_for` has made room for them."""

_PIECE = 1 << 20
"""The number of rows that are looked at between two checks of the memory limit."""

_SLOTS_MOVED_ALONE = 1 << 18
"""The first slots of a table, this many, are moved by one thread."""


def in_one_thread(begin: int, end: int, call: Callable[[int, int], int]) -> list[int]:
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
    """A set of rows; `rows[:count]` are the rows in order of arrival.

    `is_direct`: the table holds the rows themselves.  `shift`: a row's place is its hash shifted
    right by this.  `era`: how often the set was cleared or its rows packed again.
    `numbered`: `insert` returns each candidate's row number (always the wide form).  `over`: calls
    a function with pieces of begin to end, in several threads or in one.  `marks`: which members
    led to the rows of the last two levels.  `budget`: how much memory the process may take.
    `room`: how many rows are expected; None reserves what the budget allows.  `files`: the files
    that hold the rows; None means that the rows are in memory.
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
        self.over: Callable[[int, int, Callable[[int, int], int]], list[int]] = in_one_thread
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
        # Reserved memory is not used yet: the kernel provides a page when it is first written.
        room = max(least, min(self._budget.limit_bytes // (8 * words), (1 << 32) - 2))
        while True:
            try:
                return np.empty((room, words), np.uint64)
            except MemoryError:
                if room <= least:
                    raise MemoryLimitMet from None
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
                        raise MemoryLimitMet from None
                    room //= 2
        self.table = self._reserved[:size]
        self.shift = np.uint64(64 - (size.bit_length() - 1))

    @property
    def bytes_used(self) -> int:
        """The bytes in memory, without rows in a file, because their pages can be reclaimed."""
        rows = self.count * self.words * 8 if self._files is None else 0
        return rows + self.table.nbytes

    def room_for(self, more: int) -> None:
        """Make room for `more` rows.  Not allowed while workers insert (`shared_inserts.py`).

        Raises `MemoryLimitMet` if memory does not allow it.
        """
        wanted = self.count + more
        self.marks.room_for(wanted)
        if wanted > len(self.rows) and self._files is not None:
            self.rows = self._files.grown(wanted)
        elif wanted > len(self.rows):
            if not self._budget.allows(wanted * self.words * 8):
                raise MemoryLimitMet
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
            raise MemoryLimitMet
        self._grow_table(size)

    def expect(self, rows: int) -> None:
        """Create the table for this many rows in advance, if memory allows it."""
        size = self.table.size
        while rows > size * 0.7:
            size *= 2
        if self._budget.allows(8 * size):
            with suppress(MemoryLimitMet):
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
        """Move all entries to their places after the table doubled; return whether all fit."""
        asides: list[tuple[Rows, int]] = []

        def piece(begin: int, end: int) -> int:
            left = np.empty(1 << 12, np.uint64)
            count = int(spread(self.table, begin, end, self.shift, left, self.is_direct))
            asides.append((left, count))
            return count

        # The upper half of the old slots moves after all old slots.  Its own slots are then free
        # for the upper half of the rest.
        end = old
        while end > _SLOTS_MOVED_ALONE:
            self.over(end // 2, end, piece)
            end //= 2
        piece(0, end)
        if any(count < 0 for _, count in asides):
            return False
        for left, count in asides:
            put_left(self.table, self.shift, left, count, self.is_direct)
        return True

    def _refill(self) -> None:
        for begin, end in self.pieces(self.count):
            refill(self.rows, begin, end, self.table, self.shift, self.is_direct)

    def pieces(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of each piece of `count` rows, for a caller that reads them all.

        Between two pieces, pages of files are released if the limit demands it.
        """
        for begin in range(0, count, _PIECE):
            yield begin, min(count, begin + _PIECE)
            self._budget.allows(0)

    def insert(self, candidates: Rows, count: int, via: RowMarks | None = None) -> Ints:
        """Insert `candidates[:count]`, which may hold duplicates, and mark the rows by `via`.

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
        """Return the row number of each of `candidates[:count]`, -1 for a row that is not there.

        Only for sets that are `numbered` or wider than one word.
        """
        numbers = np.empty(count, np.int64)
        _find(candidates, count, self.table, self.shift, self.rows, numbers)
        return numbers

    def clear(self) -> None:
        """Remove all rows; the memory for them stays reserved."""
        self.count = 0
        self.era += 1
        self.table[:] = 0
        self._recent[:] = 0

    def rows_in_new_file(self, words: int) -> Rows | None:
        """Return room for all rows in another file, for `replace`, or None if rows are in memory.

        The rows of the present file never change in place, because a checkpoint may name them.
        """
        return None if self._files is None else self._files.fresh(words, self.count)

    def put_back(self, rows: Rows, count: int) -> None:
        """Use `rows[:count]`, the rows of an earlier set, as this set's."""
        self.rows, self.count = rows, count
        self.expect(count)
        self.room_for(0)
        self._refill()

    def replace(self, rows: Rows, count: int) -> None:
        """Use other rows in the same order: the same states, packed in another way.

        `rows` may be this set's own array, changed in place, or begin the array that
        `rows_in_new_file` returned.
        """
        self.words = rows.shape[1]
        self.is_direct = self.words == 1 and not self._numbered
        if self._files is not None:
            self.rows = self._files.opened(self._files.name, self.words)
        elif not np.may_share_memory(rows, self.rows):
            # The old array is given back first, because memory may not hold both.
            self.rows = np.empty((0, self.words), np.uint64)
            fresh = self._reserve(self.words, max(count, 1 << 16))
            fresh[:count] = rows[:count]
            self.rows = fresh
        self.count = count
        self.era += 1
        self._recent[:] = 0
        self.table[:] = 0
        self._refill()
