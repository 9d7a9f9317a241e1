"""One search on several cores: threads run the compiled loops over the same tables and rows.

Each worker takes some rows, expands them, and inserts their successors into the set of rows
(`inserting.py`).  Rows that lack an answer wait.  The first worker calls members' code and
evaluates claims on new observations, while the others expand the next rows.  The workers read the
new answers when all of them meet again, so no table changes while a loop reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.expansion import expansion
from joinproto.check.engine.expansion.buffers import (
    Loop,
    MissingAnswers,
    SourceRows,
    StepScratch,
    Successors,
)
from joinproto.check.engine.expansion.deliveries import Deliveries
from joinproto.check.engine.expansion.work_queue import ROWS_MAX, WorkerCounts, WorkQueue
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.rows.shared_inserts import SharedInserts
from joinproto.check.engine.rows.threads import LINE, Workers, short_switch_interval
from joinproto.check.engine.shapes import Ints, Questions, RowMarks, Rows
from joinproto.check.engine.tables import kernel
from joinproto.check.memory import Budget, MemoryLimitMet

if TYPE_CHECKING:
    from joinproto.check.engine.expansion.expander import Batch, Expander
    from joinproto.check.engine.symmetry.symmetry import Symmetry


SUCCESSORS_MAX = 1 << 20
"""The most states that each worker finds before all workers meet."""

_PIECE = 1 << 15
"""A worker inserts its successors after this many, while they are in the processor's cache."""

_LISTED = 1 << 14
"""The most steps of one row that a worker lists; a row with more is expanded by one thread."""

ROWS_MIN = 2048
"""Fewer rows than this are expanded by one thread."""

ROUNDS = 8
"""A round may end after 1 / ROUNDS of a level: its questions are answered in the next round."""

_QUESTIONS_PER_CHECK = 64
"""The first worker checks whether others wait for it after this many answers."""

DEFERRED_MAX = 1 << 18
"""The most rows to put aside: if nearly all rows must wait, their order makes no difference."""

_NONE = np.empty(0, np.int64)


def _zeros_apart(counters: Ints) -> Ints:
    """Return zeros of the same length and dtype, in cache lines that hold no other data."""
    return np.zeros(len(counters) + 2 * LINE, counters.dtype)[LINE:-LINE]


class DeferredRows:
    """Successors of rows that had to wait for answers, put aside to stand at a level's end.

    The next level expands them first.  `states`: the set to which they are added at the end.  If
    members are renamed, the representative of each row's renamings is added in its place.
    """

    def __init__(self, states: RowSet, renaming: Symmetry | None) -> None:
        self._states, self._renaming = states, renaming
        self._waiting: list[tuple[Rows, RowMarks]] = []

    def put(self, batch: Batch) -> None:
        """Put a batch aside, packed as rows are now; call `take` before rows are packed again."""
        rows = batch.rows.copy()
        if self._renaming is not None:
            self._renaming.canonical(rows)
        self._waiting.append((rows, batch.via.copy()))
        if sum(len(via) for _, via in self._waiting) > DEFERRED_MAX:
            self.take()

    def take(self) -> None:
        """Insert all rows that were put aside into the set."""
        for rows, via in self._waiting:
            self._states.insert(rows, len(rows), via)
        self._waiting.clear()


class ParallelLevels:
    """Expands the levels of one search with several workers, which insert rows into `states`.

    `renaming`: if given, the representative of each successor's renamings is inserted in its place.
    `ahead`: called by the first worker after it has answered all questions of a round, while the
    others expand.
    """

    def __init__(
        self, workers: Workers, expander: Expander, states: RowSet, renaming: Symmetry | None = None
    ) -> None:
        self._workers, self._expander, self._states = workers, expander, states
        self._renaming = renaming
        self._canonical: Callable[[Rows], None] | None = None
        self._chosen = _NONE
        self._lookup: Any = None
        # Rows from this one on were put aside in the last level, and inserted at its end.
        self._late = 0
        self._lacked = True
        self._deferred = DeferredRows(states, renaming)
        self.ahead: Callable[[], None] = lambda: None
        self._deliveries: list[Deliveries] = []
        self._buffers()

    def _buffers(self) -> None:
        count = self._workers.count
        self._inserts = SharedInserts(self._workers, self._states, _PIECE)
        info, source = np.empty((2, count, _PIECE), np.int64)
        parts = zip(self._inserts.out, info, source, self._inserts.via, strict=True)
        self._written = [Successors(*part) for part in parts]
        self._redo = np.empty((count, ROWS_MAX + 1), np.int64)
        # No room for questions: a worker that lacks an answer only notes the row.
        self._ask = np.empty((1, 4), np.int64)

    def _renew(self) -> None:
        """Create the buffers again if rows have another number of words."""
        if not self._inserts.fits:
            self._buffers()

    def _make_room_for(self, level: int) -> None:
        """Make room for the next successors; a level of few rows needs no large table."""
        most = SUCCESSORS_MAX if self._states.is_direct else SUCCESSORS_MAX // 4
        try:
            self._inserts.make_room_for(min(most, level))
        except MemoryLimitMet:
            self._inserts.make_room_for(0)

    def _read(self) -> None:
        """Read the tables if they changed; give each worker counters of its own."""
        if self._lookup is self._expander.lookup:
            return
        tables, self._lookup = self._expander.tables, self._expander.lookup
        self._loop_tables = tables.loop_tables()
        self._canonical = None if self._renaming is None else self._renaming.form()
        if not self._deliveries:
            claim = tables.claim
            self._deliveries = [Deliveries(claim) for _ in range(self._workers.count)]
            members = self._expander.shape.members
            self._listed = [StepScratch.of(_LISTED, _PIECE, members) for _ in self._deliveries]
        for one in self._deliveries:
            one.fit(tables.choice_column.count)
        outcomes = self._lookup.outcomes
        self._lookups = [
            self._lookup._replace(
                outcomes=outcomes._replace(taken=_zeros_apart(outcomes.taken)),
                event_taken=_zeros_apart(self._lookup.event_taken),
            )
            for _ in range(self._workers.count)
        ]

    def level(
        self, begin: int, end: int, joint: Ints | None, picked: Ints | None = None
    ) -> Iterator[int]:
        """Insert all successors of rows begin to end into the set; yield their number in parts.

        `picked`: if given, only these rows are expanded.  `joint`: as for `Expander.successors`.
        """
        expander, tables = self._expander, self._expander.tables
        numbers = _NONE if joint is None else joint
        # Rows from here on follow from rows that had to wait.  They are likely to lack answers.
        late = max(begin, min(self._late, end))
        # From here on, places: row numbers, or places in `picked`.
        start, stop = begin, end
        self._chosen = _NONE
        if picked is not None:
            start, stop, late = 0, len(picked), int(np.searchsorted(picked, late))
            self._chosen = picked
        # If the last level lacked no answer, this one may lack none either.
        first, answered = min(stop, late + ROWS_MIN * self._lacked), 0
        left = [(start, late), (first, stop)]
        lacking, asked, found = expander.take_known(
            self._rows, self._rows_at(late, first), joint, begin, self._deferred.put
        )
        self._lacked = len(asked) > 0
        yield found
        while left:
            at, upto = left.pop()
            if upto - at < ROWS_MIN:
                lacking = np.concatenate([lacking, self._rows_at(at, upto)])
                continue
            self._renew()
            self._read()
            # Rows are inserted while they are found, so the table must be large enough for all.
            self._make_room_for(end - begin)
            rows = WorkQueue(
                at, upto, max(2 * ROWS_MIN, (stop - start) // ROUNDS), self._workers.count
            )
            done = self._round(rows, numbers, begin, asked)
            left += rows.left()
            yield sum(one.found for one in done)
            again = [self._redo[k, : one.redone] for k, one in enumerate(done)]
            now = done[0].answered
            asked = asked[now:]
            if now:
                asked = self._refresh(asked)
            answered += now
            # Not in each round, but once half of the questions have answers: rows may be many.
            if answered >= len(asked):
                again.append(lacking)
                lacking, answered = lacking[:0], 0
            still, more, found = expander.take_known(
                self._rows, np.concatenate(again), joint, begin, self._deferred.put
            )
            lacking = np.concatenate([lacking, still])
            asked = np.concatenate([asked, more])
            self._lacked |= len(asked) > 0
            yield found
        if len(asked):
            self._lacked = True
            tables.fill(asked)
            self._refresh(asked[:0])
        self._late = self._states.count
        self._deferred.take()
        yield from self._expand_alone(lacking, begin, joint)

    def _rows_at(self, begin: int, end: int) -> Ints:
        """Return the numbers of the rows at places begin to end."""
        return self._chosen[begin:end] if len(self._chosen) else np.arange(begin, end)

    def _refresh(self, asked: Questions) -> Questions:
        """Read the tables again; return the questions of `asked` that rows will not ask again."""
        tables = self._expander.tables
        era = tables.era
        tables.claim(0)
        # Rows may be packed again now, so rows put aside must be in the set.
        if tables.outgrown() or self._renaming is not None:
            self._deferred.take()
        self._expander.refresh()
        if tables.era == era:
            return asked
        # The tables of horizons are empty now, so rows ask about them again, but not about cells.
        return asked[~np.isin(asked[:, 0], (kernel.ASK_TRIM, kernel.ASK_VECTOR))]

    def _round(
        self, rows: WorkQueue, joint: Ints, base: int, asked: Questions
    ) -> list[WorkerCounts]:
        """Run all workers; the first one answers questions before it expands rows."""
        tables = self._expander.tables
        done = [WorkerCounts() for _ in range(self._workers.count)]

        def work(k: int) -> None:
            try:
                if k == 0 and len(asked):
                    done[k].answered = self._answer(asked, rows)
                if k == 0:
                    rows.is_answered = True
                self._expand(k, rows, done[k], joint, base)
            finally:
                rows.waits = True

        rows.is_asked = len(asked) > 0
        self._inserts.begin()
        try:
            if len(asked):
                with tables.held(), short_switch_interval():
                    self._workers.each(work)
            else:
                self._workers.each(work)
        except BaseException:
            # The successors found so far stay in the set, so they must be counted as well.
            self._expander.loops += sum(one.found for one in done)
            raise
        finally:
            self._inserts.end()
            self._add_up()
            self._expander.loops += sum(one.loops for one in done)
        return done

    def _answer(self, asked: Questions, rows: WorkQueue) -> int:
        """Answer questions until other workers wait; return how many have an answer."""
        tables, at = self._expander.tables, 0
        while at == 0 or (at < len(asked) and not rows.waits):
            tables.fill(asked[at : at + _QUESTIONS_PER_CHECK])
            at = min(len(asked), at + _QUESTIONS_PER_CHECK)
        if self._renaming is not None:
            self._renaming.refresh()
        if at == len(asked):
            self.ahead()
        return at

    def _expand(self, k: int, rows: WorkQueue, done: WorkerCounts, joint: Ints, base: int) -> None:
        """Expand rows as worker k, until no rows or no room is left."""
        expander, states, inserts = self._expander, self._states, self._inserts
        sets = expander.sets
        while True:
            at, end = rows.take()
            while at < end:
                if not inserts.has_room():
                    rows.give_back(at, end)
                    return
                loop = Loop(
                    self._lookups[k],
                    expander.shape,
                    SourceRows(states.rows, self._chosen, base, joint, expander.marks),
                    self._written[k],
                    MissingAnswers(self._ask, self._redo[k, done.redone :]),
                    self._listed[k],
                    None if sets is None else self._deliveries[k].arrays,
                    expander.quiet,
                )
                after, n, _, again, idle = expansion.expand(loop, *self._loop_tables, sets, at, end)
                done.add(n, again, idle)
                if self._canonical is not None:
                    self._canonical(inserts.out[k, :n])
                inserts.put(k, n)
                if again:
                    rows.lacks = True
                if after == at and not self._deliveries[k].grow_if_full():
                    # This row does not fit; `successors`, in one thread, will make room for it.
                    self._redo[k, done.redone] = self._rows_at(at, at + 1)[0]
                    done.redone += 1
                    after += 1
                at = after
            if end == 0:
                return

    def _add_up(self) -> None:
        tables = self._expander.tables
        # The tables may have grown since they were read.
        taken = tables.out["taken"].array
        for one in self._lookups:
            counted = one.outcomes.taken
            taken[: len(counted)] += counted
            tables.event_taken += one.event_taken
            counted[:] = one.event_taken[:] = 0

    def count_up(self) -> None:
        """Add the workers' counts of deliveries and of sleeping prefixes to the tables."""
        for one in self._deliveries:
            one.count_into(self._expander.tables.out["taken"].array)

    def _expand_alone(self, rows: Ints, base: int, joint: Ints | None) -> Iterator[int]:
        for batch in self._expander.successors(
            self._rows, 0, len(rows), joint, rows, joint_base=base
        ):
            if self._renaming is not None:
                self._renaming.canonical(batch.rows)
            self._states.insert(batch.rows, len(batch.rows), batch.via)
            yield len(batch.rows)

    def _rows(self) -> Rows:
        return self._states.rows

    def insert_found(self, found: list[Rows]) -> None:
        """Insert `found[k]` by worker k, for all workers at once."""
        self._renew()
        self._inserts.insert_found(found)


def touch() -> None:
    """Load or compile the loops that are used only with several workers."""
    workers = Workers(2)
    expander: Any = None
    for words in (1, 2):
        states = RowSet(words, Budget(1 << 30), room=1 << 12)
        none = np.empty((0, words), np.uint64)
        ParallelLevels(workers, expander, states).insert_found([none, none])
    workers.close()
