"""What several workers found, put into one set of rows by all of them (`shares.py`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.engine import shares
from models.engine.crew import Crew
from models.engine.rowset import RowSet
from models.engine.sleeping import MARK

U16 = npt.NDArray[np.uint16]
U64 = npt.NDArray[np.uint64]

_RECENT = 1 << 16


class Gathering:
    """Room for what each worker finds in a round: `out[worker]`, marked by `via[worker]`.

    As much as `room` rows for each.  A worker calls `begin`, and `sort_out` of what it wrote, piece
    by piece; then all insert it.
    """

    def __init__(self, crew: Crew, states: RowSet, room: int) -> None:
        self._crew, self._states, self._era = crew, states, states.era
        count, words = crew.count, states.words
        self.out = np.empty((count, room, words), np.uint64)
        self.via = np.zeros((count, room), MARK)
        # Sorted by part: the rows themselves where they have one word.
        self._hashes = np.empty((count, count, room + 1), np.uint64)
        self._order = np.empty((count, count, room), np.int32)
        self._counts = np.zeros((count, count), np.int64)
        self._recent = np.zeros((count, _RECENT), np.uint64)
        self._places = np.empty((count, room), np.int64)
        self._left = np.empty((count, count * room, 2), np.int64)

    @property
    def fits(self) -> bool:
        """Whether the set's rows have as many words as here."""
        return self._states.words == self.out.shape[2]

    def renew(self) -> None:
        """Know of no row that was found lately, where rows were packed anew."""
        if self._states.era != self._era:
            self._recent[:] = 0
            self._era = self._states.era

    def begin(self, k: int) -> None:
        """Let worker k have found nothing in this round yet."""
        self._counts[k] = 0

    def insert(self, found: list[int]) -> None:
        """Insert what each worker sorted out, of so many rows."""
        states, parts = self._states, self._crew.count
        size = states.table.size
        ends = [-(-size * (k + 1) // parts) for k in range(parts)]
        aside = self._insert_single(ends) if states.is_direct else self._insert_wide(ends, found)
        for k, count in enumerate(aside):
            if count:
                states.insert(*self._left_of(k, count))

    def _insert_single(self, ends: list[int]) -> list[int]:
        states, counts = self._states, self._counts
        # As if all were new, one part behind the other; then the gaps are closed.
        firsts = states.count + np.concatenate([[0], np.cumsum(counts.sum(axis=0))])

        def insert(k: int) -> tuple[int, int]:
            where = (k, states.table, states.shift, ends[k], states.rows, int(firsts[k]))
            new, aside = shares.insert_single(self._hashes, counts, *where)
            return new, aside

        done = self._crew.each(insert)
        for k, (new, _) in enumerate(done):
            first, count = int(firsts[k]), states.count
            if new and first > count:
                states.rows[count : count + new] = states.rows[first : first + new]
            states.count = count + new
        return [aside for _, aside in done]

    def _insert_wide(self, ends: list[int], found: list[int]) -> list[int]:
        states, crew, places, out = self._states, self._crew, self._places, self.out
        room, table = max(1, *found), states.table
        ways = (self._hashes, self._order, self._counts)
        via, marks = self.via, (states.marks.found, states.marks.begin)

        def insert(k: int) -> int:
            where = (k, table, states.shift, ends[k], states.rows, states.count, room)
            return int(shares.insert_wide(out, *ways, *where, places, self._left[k], via, *marks))

        aside = crew.each(insert)
        new = crew.each(lambda k: int(shares.count_new(places[k], found[k])))
        firsts = [states.count + sum(new[:k]) for k in range(crew.count)]

        def settle(k: int) -> None:
            rows = (table, states.rows, firsts[k])
            shares.settle_wide(out[k], found[k], places[k], *rows, via[k], *marks)

        crew.each(settle)
        states.count += sum(new)
        return aside

    def sort_out(self, k: int, begin: int, count: int) -> None:
        """Sort out rows from `begin` on of those that worker k found in this round."""
        states, recent, counts = self._states, self._recent[k], self._counts[k]
        rows, shift, hashes = self.out[k], states.shift, self._hashes[k]
        if states.is_direct:
            shares.sort_out_single(rows, begin, count, shift, recent, hashes, counts)
        else:
            lists = (hashes, self._order[k], counts, self._places[k], self.via[k])
            shares.sort_out_wide(rows, begin, count, shift, recent, *lists)

    def _left_of(self, k: int, count: int) -> tuple[U64, int, U16 | None]:
        """Return the rows that part k had no place for, their number, and their marks."""
        if self._states.is_direct:
            return self._hashes[0, k, :count].reshape(-1, 1).copy(), count, None
        worker, own = self._left[k, :count].T
        return np.ascontiguousarray(self.out[worker, own]), count, self.via[worker, own]

    def take_in(self, found: list[U64]) -> None:
        """Insert rows that each worker is given."""
        self._states.room_for(sum(map(len, found)))
        self._counts[:] = 0
        for k, rows in enumerate(found):
            self.out[k, : len(rows)] = rows
            self.sort_out(k, 0, len(rows))
        self.insert([len(rows) for rows in found])
