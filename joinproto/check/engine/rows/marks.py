"""Marks of rows: the members whose steps led to each row, for `expansion/sleeping.py`."""

from __future__ import annotations

import numpy as np

from joinproto.check.engine.shapes import RowMarks

MARK = np.uint16

NO_MARKS: RowMarks = np.empty(0, MARK)


class Marks:
    """The marks of the rows of two levels: the level that is being expanded, and the next.

    `expanded`: the marks of the level that is being expanded; empty if no step sleeps.  `found`:
    the marks of the next level's rows, from row `begin` on.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Keep no marks until the next call of `expand`."""
        self.expanded = self.found = NO_MARKS
        self.begin = -1

    @property
    def are_kept(self) -> bool:
        return self.begin >= 0

    def expand(self, begin: int, end: int) -> RowMarks:
        """Return the marks of rows begin to end, which are expanded now.

        From now on the marks of rows from `end` on are noted.
        """
        spare, known = self.expanded, self.begin == begin
        self.expanded = self.found if known else np.zeros(end - begin, MARK)
        spare.fill(0)
        self.found, self.begin = spare, end
        return self.expanded

    def room_for(self, rows: int) -> None:
        """Reserve memory for the marks of all rows up to `rows`."""
        wanted = rows - self.begin
        if self.are_kept and wanted > len(self.found):
            grown = np.zeros(max(wanted, 2 * len(self.found)), MARK)
            grown[: len(self.found)] = self.found
            self.found = grown
