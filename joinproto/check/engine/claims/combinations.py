"""Combinations of observations: of all members, the monitor and the environment.

Each combination gets a number when it is first met, so that a claim about the whole world is
evaluated once for each.
"""

from __future__ import annotations

import numpy as np

from joinproto.check.engine.claims.watching import combine
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import Ints, Rows, Table
from joinproto.check.engine.tables.arrays import Arrays
from joinproto.check.memory import Budget

_BLOCK = 1 << 16


class Combinations:
    """Numbers combinations.  `parts`: the number of fields in each, from the first field on."""

    def __init__(self, parts: int, budget: Budget) -> None:
        self.parts = parts
        self._layout = Layout([1] * parts, 0)
        self._sets = RowSet(self._layout.words, budget, numbered=True)

    @property
    def count(self) -> int:
        return self._sets.count

    @property
    def bytes_used(self) -> int:
        return self._sets.bytes_used

    def make_room(self, shown: list[int]) -> None:
        """Make room for `shown[f]` different observations of each field f."""
        counts = [max(2, count) for count in shown]
        if any(
            count > (1 << width) for count, width in zip(counts, self._layout.widths, strict=True)
        ):
            old = self._layout
            self._layout = old.grown(counts)
            count = self._sets.count
            self._sets.replace(self._layout.repack(self._sets.rows, count, old, 0), count)

    def number(
        self,
        arrays: Arrays,
        rows: Rows,
        begin: int,
        end: int,
        picked: Ints | None = None,
    ) -> Ints:
        """Return the numbers of the combinations of rows begin to end (or places in `picked`)."""
        source, layout = arrays.layout.places, self._layout
        numbers = np.empty(end - begin, np.int64)
        out = np.empty((min(end - begin, _BLOCK), layout.words), np.uint64)
        chosen = np.empty(0, np.int64) if picked is None else picked
        for at in range(begin, end, _BLOCK):
            upto = min(end, at + _BLOCK)
            observed = arrays.per_value.off, arrays.per_value.arrays["shown"], self.parts
            combine(rows, chosen, at, upto, source, *observed, layout.places, out)
            numbers[at - begin : upto - begin] = self._sets.insert(out, upto - at)
        return numbers

    def add(self, shown: Ints) -> Ints:
        """Return the number of each combination of `shown`, int64 (combination, part)."""
        layout = self._layout
        out = np.zeros((len(shown), layout.words), np.uint64)
        out[:, 0] = np.uint64(1 << 63)
        for f in range(self.parts):
            out[:, layout.word[f]] |= shown[:, f].astype(np.uint64) << layout.shift[f]
        return self._sets.insert(out, len(out))

    def shown_from(self, first: int, end: int | None = None) -> Table:
        """Return the observations' numbers of combinations first to end (by default, to the last).

        Result: int64 (combination, part).
        """
        end = self.count if end is None else min(end, self.count)
        layout, rows = self._layout, self._sets.rows[first:end]
        found = np.empty((len(rows), self.parts), np.int64)
        for f in range(self.parts):
            found[:, f] = layout.values(rows, f)
        return found

    def shown(self, number: int) -> list[int]:
        """Return the numbers of the observations of one combination, by part."""
        return self._layout.fields(self._sets.rows[number])
