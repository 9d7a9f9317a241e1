"""Calls the compiled loops for the successors of rows, and has missing answers filled in.

Where a table has no answer yet, the loops list the missing cell and the row.  Here the cells are
filled, each once, and these rows are expanded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, frozen

from joinproto.check.engine.expansion import expansion
from joinproto.check.engine.expansion.buffers import (
    Loop,
    MissingAnswers,
    SourceRows,
    StepScratch,
    Successors,
)
from joinproto.check.engine.expansion.deliveries import Deliveries
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.rows.marks import MARK, NO_MARKS
from joinproto.check.engine.shapes import Ints, Questions, RowMarks, Rows
from joinproto.check.engine.tables import grids
from joinproto.check.engine.tables.arrays import Arrays

BATCH = 1 << 15
"""The initial number of successors in one batch."""

ASKS_ENOUGH = 1 << 10
"""About this many questions are answered together; one pass may add `ASKS_MAX` more."""


_NONE = np.empty(0, np.int64)
_NO_QUESTIONS = np.empty((0, 4), np.int64)


@define
class Batch:
    """Some successors: step `info[i]` leads from row `source[i]` to `rows[i]`.

    `via[i]`: the successor's mark, if rows have marks.
    """

    rows: Rows
    info: Ints
    source: Ints
    via: RowMarks


@frozen
class _Pass:
    """The results of one pass of the loop, until place `after`.

    `redo`: the rows that lack answers; `asked`: their questions, except questions asked earlier.
    """

    after: int
    batch: Batch
    redo: Ints
    asked: Questions


class Expander:
    """Finds successors of rows, and has the tables filled where they lack answers.

    `quiet`: steps that change nothing are only counted, in `loops`.  `marks`: the marks of the
    rows that are expanded; sleeping steps are only counted in `loops`, too.
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
        self._written = Successors(
            np.empty((self._room, words), np.uint64),
            np.empty(self._room, np.int64),
            np.empty(self._room, np.int64),
            np.empty(self._room, MARK),
        )
        self._lacking = MissingAnswers(
            np.empty((grids.ASKS_MAX, 4), np.int64), np.empty(1 << 15, np.int64)
        )
        self._listed = StepScratch.of(self._room, self._room, self.shape.members)

    def _batch(self, count: int) -> Batch:
        rows, info, source, via = self._written
        return Batch(rows[:count], info[:count], source[:count], via[:count])

    def refresh(self) -> None:
        """Read the tables again; pack all rows again if new numbers no longer fit."""
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
        """Expand the rows from place `at` on, until `upto` or until a buffer is full."""
        cells, bits, queued = self.tables.loop_tables()
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
        """Add the steps that were only counted to the tables; return the result of `counted`."""
        self._deliveries.count_into(self.tables.out["taken"].array)
        return self.counted()

    def counted(self) -> int:
        """Return how many steps were only counted since the last call, and begin again at 0."""
        loops, self.loops = self.loops, 0
        return loops

    def _more_room(self) -> None:
        """Enlarge the tables of deliveries if they were full, otherwise the buffers."""
        if not self._deliveries.grow_if_full():
            self._room *= 2
            self._buffers()

    def take_known(
        self,
        rows: Callable[[], Rows],
        picked: Ints,
        joint: Ints | None,
        joint_base: int,
        take: Callable[[Batch], None],
    ) -> tuple[Ints, Questions, int]:
        """Pass the successors of the rows `picked` to `take`, for rows whose steps are all known.

        Returns the other rows of `picked`; the cells that these rows lack, (kind, x, y, z) each,
        except cells asked for earlier; and the number of successors.
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
        """Yield each pass over the rows `picked`; its batch is valid until the next pass."""
        at, asks = 0, 0
        while at < len(picked):
            if asks:
                # The tables have room for the questions of one pass only, so make room again.
                self._read()
            done = self._expand(rows(), picked, at, len(picked), joint, joint_base)
            yield done
            if done.after == at:
                self._more_room()
            at, asks = done.after, len(done.asked)

    def lacking(self, rows: Rows, picked: Ints, joint: Ints | None) -> Ints:
        """Return the rows of `picked` whose successors the tables do not know yet."""
        self._deliveries.forget()
        found = [done.redo for done in self._passes(lambda: rows, picked, joint)]
        return np.concatenate([_NONE, *found])

    def asked_by(self, row: Rows, joint: Ints | None) -> Questions:
        """Return the cells that the tables lack for one row's successors, (kind, x, y, z) each."""
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
        """Yield all successors of `rows()[begin:end]`; a batch is valid until the next.

        `picked`: if given, the numbers of the rows; `begin` and `end` are then places in it.
        `joint`: the number of each row's combination of observations, from row `joint_base` on
        (by default `begin`, or 0 if rows are picked).
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
            # Otherwise these rows, and all their successors, would be lost without an error.
            assert asks or not len(again), "rows lack answers that are not asked for"
            if asks:
                self.tables.fill(np.concatenate(asked))
                self.tables.claim(0)
                self.refresh()
                waiting.append((chosen, at, upto))
                waiting.append((again, 0, len(again)))
