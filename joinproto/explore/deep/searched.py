"""A finished search with an index: the observations of each row, and a row that it was found from.

Rows are numbered level by level, so of two rows the row with the lower number is at least as near
to a first state.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field

from joinproto.check.view import View

if TYPE_CHECKING:
    from joinproto.check.engine.rows.rowset import RowSet
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.shapes import Ints, Rows, SmallInts, Table

PIECE = 1 << 18
"""The number of rows that are handled at once."""


@define
class SearchIndex:
    """A finished search.

    `parent`: row to a row that it was found from, -1 for a first row.  `number`: row to its
    combination of the observations of members, the monitor and the network.  `first`: combination
    to the nearest row that shows it.  `order`: all combinations, of nearer rows first.
    `shown`: (combination in this order, part), the numbers of the observations.
    """

    search: Search
    parent: SmallInts = field(init=False)
    number: SmallInts = field(init=False)
    first: Ints = field(init=False)
    order: Ints = field(init=False)
    shown: Table = field(init=False)

    def index(self) -> None:
        """Find the parents, level by level, and the observations of each row."""
        search = self.search
        levels, count = search.found.levels, search.states.count
        self.parent = np.full(count, -1, np.int32)
        known = self._numbered()
        for begin, end in pairwise(levels):
            for at in range(begin, end, PIECE):
                for batch in search.successors(at, min(end, at + PIECE)):
                    rows = known.find(np.ascontiguousarray(batch.rows), len(batch.rows))
                    new = (rows >= end) & (self.parent[rows] < 0)
                    self.parent[rows[new]] = batch.source[new]
        self.number = np.empty(count, np.int32)
        for at in range(0, count, PIECE):
            upto = min(count, at + PIECE)
            self.number[at:upto] = search.judge.number(search.rows(), at, upto)
        combinations = int(self.number.max()) + 1
        self.first = np.full(combinations, count, np.int64)
        # From the last row to the first, so that the nearest row stays.
        for begin in range(((count - 1) // PIECE) * PIECE, -1, -PIECE):
            piece = self.number[begin : begin + PIECE][::-1]
            self.first[piece] = np.arange(begin + len(piece) - 1, begin - 1, -1)
        self.order = np.argsort(self.first, kind="stable")
        self.shown = self._shown_by(search.rows()[self.first[self.order]])

    def _numbered(self) -> RowSet:
        """Return the rows as a set that gives their numbers.

        The search's own set does not give them if a row is one word.
        """
        from joinproto.check.engine.rows.rowset import RowSet

        search = self.search
        states = search.states
        if not states.is_direct:
            return states
        known = RowSet(states.words, search.budget, numbered=True, room=states.count)
        for at in range(0, states.count, PIECE):
            piece = search.rows()[at : min(states.count, at + PIECE)].copy()
            known.insert(piece, len(piece))
        return known

    def _shown_by(self, rows: Rows) -> Table:
        """Return the numbers of these rows' observations, by part: int64 (row, part)."""
        tables = self.search.tables
        shown = np.empty((len(rows), self.search.judge.parts), np.int64)
        for part in range(shown.shape[1]):
            at = tables.per_value.off[part] + self.values(rows, part)
            shown[:, part] = tables.per_value.arrays["shown"][at]
        return shown

    def values(self, rows: Rows, part: int) -> Ints:
        """Return the numbers of the values of these rows in one field."""
        layout = self.search.tables.layout
        found: Ints = (
            (rows[:, layout.word[part]] >> layout.shift[part]) & layout.mask[part]
        ).astype(np.int64)
        return found

    def view(self, place: int) -> View:
        """Return the view of the combination at a place of `order`."""
        return self.search.judge.view(int(self.order[place]))

    def nearest_row(self, place: int) -> int:
        """Return the nearest row with the combination at a place of `order`."""
        return int(self.first[self.order[place]])

    def way(self, row: int) -> list[int]:
        """Return the rows from a first row to `row`."""
        rows = [row]
        while (before := int(self.parent[rows[-1]])) >= 0:
            rows.append(before)
        return rows[::-1]
