"""Successors of rows that had to wait for answers, put aside to stand at a level's end.

The next level expands them first (`workers.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import RowMarks, Rows

if TYPE_CHECKING:
    from joinproto.check.engine.expansion.expander import Batch
    from joinproto.check.engine.symmetry.symmetry import Symmetry

SUCCESSORS_MAX = 1 << 18
"""The most rows to defer: where nearly all must wait, their order makes no difference."""


class DeferredRows:
    """Rows that wait to be added to `states`; with `renaming`, as the representative of all their
    renamings.
    """

    def __init__(self, states: RowSet, renaming: Symmetry | None) -> None:
        self._states, self._renaming = states, renaming
        self._waiting: list[tuple[Rows, RowMarks]] = []

    def put(self, batch: Batch) -> None:
        """Put a batch aside, as rows are packed now: `take` before they are packed again."""
        rows = batch.rows.copy()
        if self._renaming is not None:
            self._renaming.canonical(rows)
        self._waiting.append((rows, batch.via.copy()))
        if sum(len(via) for _, via in self._waiting) > SUCCESSORS_MAX:
            self.take()

    def take(self) -> None:
        """Put all of it into the set."""
        for rows, via in self._waiting:
            self._states.insert(rows, len(rows), via)
        self._waiting.clear()
