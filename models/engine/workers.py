"""One search on several cores: threads in the compiled loops, over the same tables and rows.

Each worker expands rows of its own; then all put what they found into the set of rows together
(`shares.py`).  What lacks an answer waits for it: the first worker asks members' code, and claims
about what is new, while the others expand what comes next.  The answers are read by all when they
come together again, so no table changes under a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.engine import expansion, kernel
from models.engine.aside import Aside
from models.engine.crew import Crew, given_way
from models.engine.deliveries import Deliveries
from models.engine.gathering import Gathering
from models.engine.rowset import RowSet
from models.memory import Budget, TooMany

if TYPE_CHECKING:
    from models.engine.expander import Expander
    from models.engine.symmetry import Symmetry

Ints = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

ROOM = 1 << 20
"""Successors that one worker writes, at most, before all come together."""

_PIECE = 1 << 15
"""So many are written before they are sorted out: they stay in the processor's cache."""

_ROOM_MIN = 1 << 16
"""So many in any case; and where memory has no room for more."""

_LISTED = 1 << 14
"""Steps of one row that are listed at most; who has more is expanded by one alone."""

_LINE = 64
"""Bytes that a processor writes at once: what two workers write is that far apart."""

ROWS_MIN = 2048
"""Fewer rows are expanded by one alone."""

ROUNDS = 8
"""A level is expanded in so many rounds: what the first lacks is asked for during the next."""


_NONE = np.empty(0, np.int64)


def _apart(counters: Ints) -> Ints:
    """Return zeros like these, in lines of memory that nothing else is in."""
    around = _LINE // 8
    return np.zeros(len(counters) + 2 * around, counters.dtype)[around:-around]


class CrewLevels:
    """Levels of one search, expanded and put into `states` by a crew.

    `renaming`: what is found is put in as the one state that stands for all its renamings.
    `ahead`: what else can be done while others expand, once there are new answers.
    """

    def __init__(
        self, crew: Crew, expander: Expander, states: RowSet, renaming: Symmetry | None = None
    ) -> None:
        self._crew, self._expander, self._states = crew, expander, states
        self._renaming = renaming
        self._canonical: Callable[[U64], None] | None = None
        self._chosen = _NONE
        self._step = ROOM // 16
        self._lookup: Any = None
        # The first of the last level's rows that were found last.
        self._late = 0
        self._aside = Aside(states, renaming)
        self.ahead: Callable[[], None] = lambda: None
        self._deliveries: list[Deliveries] = []
        self._buffers()

    def _buffers(self) -> None:
        count = self._crew.count
        self._gathering = Gathering(self._crew, self._states, ROOM)
        self._info = np.empty((count, _PIECE), np.int64)
        self._source = np.empty((count, _PIECE), np.int64)
        self._todo = np.zeros((count, _LISTED, 5), np.int64)
        self._looped = np.zeros((count, _PIECE), np.int64)
        self._redo = np.empty((count, ROOM), np.int64)
        # Nobody asks: who lacks an answer only says which row that was.
        self._ask = np.empty((1, 4), np.int64)

    def _renew(self) -> None:
        """Begin anew where rows were packed anew."""
        if not self._gathering.fits:
            self._buffers()
        self._gathering.renew()

    def _room_for(self, level: int) -> int:
        """Make room for what is found next; return how much, for each worker.

        Few rows need no large table.
        """
        least = min(ROOM, _ROOM_MIN)
        most = ROOM if self._states.is_direct else ROOM // 4
        room = max(least, min(most, level))
        try:
            self._states.room_for(self._crew.count * room)
        except TooMany:
            room = least
            self._states.room_for(self._crew.count * room)
        return room

    def _read(self) -> None:
        """Give each worker counters of its own."""
        if self._lookup is self._expander.lookup:
            return
        tables, self._lookup = self._expander.tables, self._expander.lookup
        self._looked_up = tables.looked_up()
        self._canonical = None if self._renaming is None else self._renaming.form()
        if not self._deliveries:
            claim = tables.claim
            self._deliveries = [Deliveries(claim) for _ in range(self._crew.count)]
            links = (self._expander.shape.members + 1) ** 2
            self._scratch = np.zeros((self._crew.count, 3, links + _LINE), np.int64)
        self._lookups = [
            self._lookup._replace(
                taken=_apart(self._lookup.taken),
                event_taken=_apart(self._lookup.event_taken),
            )
            for _ in range(self._crew.count)
        ]

    def level(
        self, begin: int, end: int, joint: Ints | None, picked: Ints | None = None
    ) -> Iterator[int]:
        """Put all successors of rows begin to end into the set; yield how many at a time.

        `picked`: only of these among them.  `joint`: as `Expander.successors` takes it.
        """
        expander, tables = self._expander, self._expander.tables
        numbers = _NONE if joint is None else joint
        # Those that follow from rows which had to wait know what is new: they lack answers first.
        late = max(begin, min(self._late, end))
        # Places from here on: of rows, or of picked ones.
        start, stop = begin, end
        self._chosen = _NONE
        if picked is not None:
            start, stop, late = 0, len(picked), int(np.searchsorted(picked, late))
            self._chosen = picked
        first, answered = min(stop, late + ROWS_MIN), 0
        left = [(start, late), (first, stop)]
        lacking, asked, found = expander.known(
            self._rows, self._at(late, first), joint, begin, self._aside.put
        )
        yield found
        while left:
            at, upto = left.pop()
            if upto - at < ROWS_MIN:
                lacking = np.concatenate([lacking, self._at(at, upto)])
                continue
            self._renew()
            self._read()
            # Who sorts out must know how large the table is.
            room = self._room_for(end - begin)
            least = max(2 * ROWS_MIN, (stop - start) // ROUNDS)
            now, effort = self._now(asked)
            bounds = self._bounds(at, upto, least, effort)
            left.append((bounds[-1], upto))
            is_last = now == len(asked)
            done = self._round(bounds, numbers, begin, room, asked[:now], is_last=is_last)
            left += [
                (done[k][0], bounds[k + 1])
                for k in reversed(range(len(done)))
                if done[k][0] < bounds[k + 1]
            ]
            each = [n for _, n, _, _ in done]
            expander.loops += sum(loops for *_, loops in done)
            self._gathering.insert(each)
            found = sum(each)
            yield found
            expanded = sum(after - first for (after, *_), first in zip(done, bounds, strict=False))
            self._step = max(64, min(room, int(0.8 * room * expanded / max(found, expanded, 1))))
            again = [self._redo[k, :redone] for k, (_, _, redone, _) in enumerate(done)]
            if expanded == 0:
                # Not one fits: whoever is alone makes the room for it.
                _, upto = left.pop()
                left.append((at + 1, upto))
                again.append(self._at(at, at + 1))
            asked = asked[now:]
            if now:
                asked = self._refresh(asked)
            answered += now
            # Gone through again once half has an answer: rounds may be many, and so may rows.
            if answered >= len(asked):
                again.append(lacking)
                lacking, answered = lacking[:0], 0
            rows = np.concatenate(again)
            still, more, found = expander.known(self._rows, rows, joint, begin, self._aside.put)
            lacking = np.concatenate([lacking, still])
            asked = np.concatenate([asked, more])
            yield found
        if len(asked):
            tables.fill(asked)
            self._refresh(asked[:0])
        self._late = self._states.count
        self._aside.take()
        yield from self._alone(lacking, begin, joint)

    def _at(self, begin: int, end: int) -> Ints:
        """Return the numbers of the rows at these places."""
        return self._chosen[begin:end] if len(self._chosen) else np.arange(begin, end)

    def _refresh(self, asked: Ints) -> Ints:
        """Read the tables anew; return those questions that rows do not put again."""
        tables = self._expander.tables
        era = tables.era
        tables.claim(0)
        # What is numbered now may outgrow the rows, and so may its renamings.
        if tables.outgrown() or self._renaming is not None:
            self._aside.take()
        self._expander.refresh()
        if tables.era == era:
            return asked
        # The tables of horizons are empty now, so rows put these again; cells stay asked for.
        return asked[~np.isin(asked[:, 0], (kernel.ASK_TRIM, kernel.ASK_VECTOR))]

    def _now(self, asked: Ints) -> tuple[int, int]:
        """Return how many questions the first answers in the next round, and what that takes.

        As much as others expand meanwhile, at most: they end a round when their room is full.
        """
        efforts = np.cumsum(self._expander.tables.effort(asked))
        now = int(np.searchsorted(efforts, self._step, side="right"))
        now = min(len(asked), max(1, now))
        return now, int(efforts[now - 1]) if now else 0

    def _bounds(self, at: int, upto: int, least: int, effort: int) -> list[int]:
        """Return where each worker's rows of a round begin, and where the last one's end.

        `effort`: what the first has to do beside, in rows; so it gets so many less.
        """
        count = self._crew.count
        rows = min(upto - at, max(least, effort))
        each = min(self._step, -(-(rows + effort) // count))
        first = max(0, each - effort)
        other = min(each, max(1, -(-(rows - first) // (count - 1))))
        return [at, *(min(upto, at + first + k * other) for k in range(count))]

    def _round(
        self,
        bounds: list[int],
        joint: Ints,
        base: int,
        room: int,
        asked: Ints,
        *,
        is_last: bool,
    ) -> list[tuple[int, int, int, int]]:
        """Let all expand, the first once it has the answers; return what `_expand` does of each."""
        tables = self._expander.tables

        def work(k: int) -> tuple[int, int, int, int]:
            if k == 0 and len(asked):
                tables.fill(asked)
                if self._renaming is not None:
                    self._renaming.refresh()
                if is_last:
                    self.ahead()
            return self._expand(k, bounds[k], bounds[k + 1], joint, base, room)

        if len(asked):
            with tables.held(), given_way():
                done = self._crew.each(work)
        else:
            done = self._crew.each(work)
        self._add_up()
        for one in self._deliveries:
            one.made_room()
        return done

    def _expand(
        self, k: int, begin: int, end: int, joint: Ints, base: int, room: int
    ) -> tuple[int, int, int, int]:
        """Return (first row not done, successors, rows to redo, loops) of one worker."""
        expander, states, gathering = self._expander, self._states, self._gathering
        sets = expander.sets
        gathering.begin(k)
        at, found, redone, loops = begin, 0, 0, 0
        # Piece by piece: what was written is sorted out while it is at hand.
        while at < end:
            after, n, _, again, idle = expansion.expand(
                self._lookups[k],
                *self._looked_up,
                sets,
                None if sets is None else self._deliveries[k].arrays,
                expander.shape,
                states.rows,
                self._chosen,
                at,
                end,
                joint,
                base,
                gathering.out[k, found : min(room, found + _PIECE)],
                self._info[k],
                self._source[k],
                self._ask,
                self._redo[k, redone:],
                self._todo[k],
                self._looped[k],
                self._scratch[k],
                expander.quiet,
                expander.marks,
                gathering.via[k, found:],
            )
            if self._canonical is not None:
                self._canonical(gathering.out[k, found : found + n])
            gathering.sort_out(k, found, found + n)
            found, redone, loops = found + n, redone + again, loops + idle
            if after == at:
                break
            at = after
        return at, found, redone, loops

    def _add_up(self) -> None:
        tables = self._expander.tables
        # The tables may have grown since they were read.
        taken = tables.out["taken"].array
        for one in self._lookups:
            taken[: len(one.taken)] += one.taken
            tables.event_taken += one.event_taken
            one.taken[:] = 0
            one.event_taken[:] = 0

    def count_up(self) -> None:
        """Count the steps that changed nothing into the tables."""
        for one in self._deliveries:
            one.count_into(self._expander.tables.out["taken"].array)

    def _alone(self, rows: Ints, base: int, joint: Ints | None) -> Iterator[int]:
        for batch in self._expander.successors(
            self._rows, 0, len(rows), joint, rows, joint_base=base
        ):
            if self._renaming is not None:
                self._renaming.canonical(batch.rows)
            self._states.insert(batch.rows, len(batch.rows), batch.via)
            yield len(batch.rows)

    def _rows(self) -> U64:
        return self._states.rows

    def take_in(self, found: list[U64]) -> None:
        """Insert rows that each worker is given."""
        self._renew()
        self._gathering.take_in(found)


def touch() -> None:
    """Have the loops loaded, or compiled, that only several workers need."""
    crew = Crew(2)
    expander: Any = None
    for words in (1, 2):
        states = RowSet(words, Budget(1 << 30), room=1 << 12)
        none = np.empty((0, words), np.uint64)
        CrewLevels(crew, expander, states).take_in([none, none])
    crew.close()
