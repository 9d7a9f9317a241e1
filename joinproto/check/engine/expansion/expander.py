"""Successors of rows: the compiled loops, and the member code behind the tables they read.

Where a table has no answer yet, the loops list the missing cells; these are filled here, once, and
those rows are done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, frozen

from joinproto.check.engine.expansion import expansion
from joinproto.check.engine.expansion.buffers import (
    Listed,
    Loop,
    MissingAnswers,
    SourceRows,
    Written,
)
from joinproto.check.engine.expansion.deliveries import Deliveries
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.rows.marks import MARK, NO_MARKS
from joinproto.check.engine.shapes import Ints, Questions, RowMarks, Rows
from joinproto.check.engine.tables import grids
from joinproto.check.engine.tables.arrays import Arrays

BATCH = 1 << 15
"""Successors that are written before they are handed on, at first."""

ASKS_ENOUGH = 1 << 10
"""Questions put together, about: one pass more fits in the tables (`ASKS_MAX`)."""


_NONE = np.empty(0, np.int64)
_NO_QUESTIONS = np.empty((0, 4), np.int64)


@define
class Batch:
    """Successors as they come: `rows[i]` by step `info[i]` from row `source[i]`.

    `via[i]`: its mark, if rows have marks.
    """

    rows: Rows
    info: Ints
    source: Ints
    via: RowMarks


@frozen
class _Pass:
    """What one pass of the loop found, until place `after`.

    `redo`: rows that lack answers; `asked`: the questions about them that no pass put before.
    """

    after: int
    batch: Batch
    redo: Ints
    asked: Questions


class Expander:
    """Successors of rows, with the member code behind the tables called where it must.

    `quiet`: steps that change nothing are only counted, in `loops`.
    `marks`: of the rows that are expanded: whatever sleeps is counted there, too.
    """

    def __init__(self, tables: Arrays) -> None:
        self.tables = tables
        self.shape = tables.shape()
        self.on_layout: list[Callable[[Any], None]] = []
        self.on_new: list[Callable[[], Any]] = []
        self.loops = 0
        self.quiet = False
        self.marks = NO_MARKS
        self._room = BATCH
        self._deliveries = Deliveries(tables.claim)
        self._buffers()
        self._read()

    def _read(self) -> None:
        self.lookup = self.tables.lookup()
        self.sets = self.tables.sets()
        self._deliveries.fit(self.tables.choice_column.count)

    def _buffers(self) -> None:
        words = self.tables.layout.words
        self._written = Written(
            np.empty((self._room, words), np.uint64),
            np.empty(self._room, np.int64),
            np.empty(self._room, np.int64),
            np.empty(self._room, MARK),
        )
        self._lacking = MissingAnswers(
            np.empty((grids.ASKS_MAX, 4), np.int64), np.empty(1 << 15, np.int64)
        )
        self._listed = Listed.of(self._room, self._room, self.shape.members)

    def _batch(self, count: int) -> Batch:
        rows, info, source, via = self._written
        return Batch(rows[:count], info[:count], source[:count], via[:count])

    def refresh(self) -> None:
        """Read newly numbered values; pack all rows again if they no longer fit."""
        tables = self.tables
        for closed in self.on_new:
            closed()
        if tables.outgrown():
            self.repack(tables.grow_layout())
        self._read()

    def repack(self, old: Layout) -> None:
        """Pack all rows again that were packed by `old`."""
        for changed in self.on_layout:
            changed(old)
        self._buffers()

    def _expand(
        self, rows: Rows, chosen: Ints, at: int, upto: int, joint: Ints | None, joint_base: int
    ) -> _Pass:
        """Expand the rows from place `at` on, as far as the buffers last."""
        cells, bits, queued = self.tables.looked_up()
        loop = Loop(
            self.lookup,
            self.shape,
            SourceRows(rows, chosen, joint_base, _NONE if joint is None else joint, self.marks),
            self._written,
            self._lacking,
            self._listed,
            None if self.sets is None else self._deliveries.arrays,
            self.quiet,
        )
        after, n, asks, redone, loops = expansion.expand(
            loop, cells, bits, queued, self.sets, at, upto
        )
        self.loops += loops
        redo, ask = self._lacking.redo[:redone].copy(), self._lacking.ask[:asks].copy()
        return _Pass(after, self._batch(n), redo, ask)

    def count_up(self) -> int:
        """Count the steps that changed nothing into the tables; return how many since the last."""
        self._deliveries.count_into(self.tables.out["taken"].array)
        return self.counted()

    def counted(self) -> int:
        """Return how many steps changed nothing since the last question."""
        loops, self.loops = self.loops, 0
        return loops

    def _more_room(self) -> None:
        """Enlarge the buffers or the tables of deliveries that were full."""
        if not self._deliveries.grow_if_full():
            self._room *= 2
            self._buffers()

    def known(
        self,
        rows: Callable[[], Rows],
        picked: Ints,
        joint: Ints | None,
        joint_base: int,
        take: Callable[[Batch], None],
    ) -> tuple[Ints, Questions, int]:
        """Pass the successors of those rows whose steps the tables know to `take`.

        Returns those of `picked` of which they lack some; the missing cells, (kind, x, y, z) each,
        unless asked for before; and the number of successors.
        """
        lacking, asked, taken = [_NONE], [_NO_QUESTIONS], 0
        for done in self._passes(rows, picked, joint, joint_base):
            taken += len(done.batch.rows)
            if len(done.batch.rows):
                take(done.batch)
            lacking.append(done.redo)
            asked.append(done.asked)
        return np.concatenate(lacking), np.concatenate(asked), taken

    def _passes(
        self, rows: Callable[[], Rows], picked: Ints, joint: Ints | None, joint_base: int = 0
    ) -> Iterator[_Pass]:
        """Yield what each pass over the rows `picked` finds; the batch is good until the next."""
        at, asks = 0, 0
        while at < len(picked):
            if asks:
                # The tables have space for the questions of one pass.
                self._read()
            done = self._expand(rows(), picked, at, len(picked), joint, joint_base)
            yield done
            if done.after == at:
                self._more_room()
            at, asks = done.after, len(done.asked)

    def lacking(self, rows: Rows, picked: Ints, joint: Ints | None) -> Ints:
        """Return those of the rows `picked` whose successors the tables do not know yet."""
        self._deliveries.forget()
        found = [done.redo for done in self._passes(lambda: rows, picked, joint)]
        return np.concatenate([_NONE, *found])

    def asked_by(self, row: Rows, joint: Ints | None) -> Questions:
        """Return the cells that the tables lack for the successors of one row, (kind, x, y, z)
        each.
        """
        self._deliveries.forget()
        return self._expand(row, np.zeros(1, np.int64), 0, 1, joint, 0).asked

    def successors(
        self,
        rows: Callable[[], Rows],
        begin: int,
        end: int,
        joint: Ints | None = None,
        picked: Ints | None = None,
        joint_base: int | None = None,
    ) -> Iterator[Batch]:
        """Yield all successors of `rows()[begin:end]`; a batch is good until the next.

        `joint`: the number of each row's combination of observations, from `begin` on, or from
        `joint_base`.  `picked`: row numbers, of which begin and end are then places.
        """
        if joint_base is None:
            joint_base = begin if picked is None else 0
        waiting = [(_NONE if picked is None else picked, begin, end)]
        while waiting:
            chosen, at, upto = waiting.pop()
            lacking, asked, asks = [_NONE], [_NO_QUESTIONS], 0
            while at < upto and asks < ASKS_ENOUGH:
                done = self._expand(rows(), chosen, at, upto, joint, joint_base)
                if len(done.batch.rows):
                    yield done.batch
                if done.after == at:
                    self._more_room()
                at, asks = done.after, asks + len(done.asked)
                lacking.append(done.redo)
                asked.append(done.asked)
            again = np.concatenate(lacking)
            # Else those rows, and all behind them, would be missing without a word.
            assert asks or not len(again), "rows lack answers that are not asked for"
            if asks:
                self.tables.fill(np.concatenate(asked))
                self.tables.claim(0)
                self.refresh()
                waiting.append((chosen, at, upto))
                waiting.append((again, 0, len(again)))
