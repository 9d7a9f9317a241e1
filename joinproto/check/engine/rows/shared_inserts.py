"""Insertion of the rows of one round into one set by several workers at once (`inserting.py`)."""

from __future__ import annotations

import numpy as np

from joinproto.check.engine.rows import inserting
from joinproto.check.engine.rows.marks import MARK
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.rows.threads import LINE, Workers
from joinproto.check.engine.shapes import Rows

STRETCH = 256
"""Rows that a worker reserves for itself at a time."""

_RECENT = 1 << 16

_NO_NUMBERS = np.empty(0, np.int64)


class SharedInserts:
    """A round of inserts.  Call `make_room_for`, then `begin`; then each worker calls `put` as
    long as it `has_room`; `end` ends the round.

    `piece`: how many rows a worker writes to `out[worker]`, and their marks to `via[worker]`,
    before it calls `put`.
    """

    def __init__(self, workers: Workers, states: RowSet, piece: int) -> None:
        self._workers, self._states, self._era = workers, states, states.era
        count, words = workers.count, states.words
        self.out = np.empty((count, piece, words), np.uint64)
        self.via = np.zeros((count, piece), MARK)
        self._recent = np.zeros((count, _RECENT), np.uint64)
        self._taken = np.zeros(3 * LINE, np.int64)[LINE : LINE + 1]
        self._owns = np.zeros((count, 2 * LINE), np.int64)
        self._at_once = self._limit = 0

    @property
    def fits(self) -> bool:
        """Whether rows of the set have as many words as rows of `out`."""
        return self._states.words == self.out.shape[2]

    def make_room_for(self, each: int) -> None:
        """Reserve room for this many rows from each worker in the next round.

        There is always room for one full `out` of each worker, even if `each` is less.
        """
        count, states = self._workers.count, self._states
        self._at_once = count * (self.out.shape[1] + STRETCH)
        more = max(self._at_once, count * each)
        states.room_for(more)
        self._limit = states.count + more

    def has_room(self) -> bool:
        """Return whether there is room for one full `out` of each worker."""
        return int(self._taken[0]) + self._at_once <= self._limit

    def begin(self) -> None:
        """Begin a round."""
        states = self._states
        if states.era != self._era:
            # Rows were packed again, so the recent ones are packed in the old way.
            self._recent[:] = 0
            self._era = states.era
        self._taken[0] = states.count
        self._owns[:, :2] = states.count

    def put(self, k: int, count: int) -> None:
        """Put the first `count` rows that worker k has written into the set."""
        own = self._owns[k], self._taken, STRETCH, self._recent[k]
        self._states.write(self.out[k], count, *own, self.via[k], _NO_NUMBERS)

    def end(self) -> None:
        """Close the gaps between the rows."""
        states = self._states
        where = (states.table, states.shift, states.is_direct, states.rows)
        marks = (states.marks.found, states.marks.begin)
        states.count = int(inserting.close(*where, self._owns, self._taken, *marks))

    def insert_found(self, found: list[Rows]) -> None:
        """Insert `found[k]` by worker k, for all workers at once, as a round of its own."""
        self._states.room_for(sum(map(len, found)) + self._workers.count * STRETCH)
        self.begin()

        def work(k: int) -> None:
            piece = self.out.shape[1]
            for at in range(0, len(found[k]), piece):
                rows = found[k][at : at + piece]
                self.out[k, : len(rows)] = rows
                self.put(k, len(rows))

        try:
            self._workers.each(work)
        finally:
            self.end()
