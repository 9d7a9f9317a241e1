"""One search on several cores: threads in the compiled loops, over the same tables and rows.

Each worker expands rows of its own; what lacks an answer is done again by one alone, which asks
members' code as ever.  Then all put what they found into the set of rows together
(`shares.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from models.engine import expansion, shares
from models.engine.deliveries import Deliveries
from models.engine.rowset import RowSet
from models.memory import Budget, TooMany

if TYPE_CHECKING:
    from models.engine.expander import Expander

T = TypeVar("T")
Ints = npt.NDArray[np.int64]

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

_RECENT = 1 << 16


def _apart(counters: Ints) -> Ints:
    """Return zeros like these, in lines of memory that nothing else is in."""
    around = _LINE // 8
    return np.zeros(len(counters) + 2 * around, counters.dtype)[around:-around]


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Crew:
    """`count` threads, the caller's own among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(max_workers=max(1, count - 1), thread_name_prefix="search")

    def each(self, call: Callable[[int], T]) -> list[T]:
        """Return `call(k)` of every worker k, all at work at once."""
        others = [self._pool.submit(call, k) for k in range(1, self.count)]
        try:
            first = call(0)
        finally:
            done = [other.exception() for other in others]
        for problem in done:
            if problem is not None:
                raise problem
        return [first, *(other.result() for other in others)]

    def over(self, begin: int, end: int, call: Callable[[int, int], T]) -> list[T]:
        """Return `call(from, to)` of each worker's piece of begin to end, in their order."""
        bounds = [begin + (end - begin) * k // self.count for k in range(self.count + 1)]
        return self.each(lambda k: call(bounds[k], bounds[k + 1]))

    def close(self) -> None:
        self._pool.shutdown()


class Together:
    """Levels of one search, expanded and put into `states` by a crew."""

    def __init__(self, crew: Crew, expander: Expander, states: RowSet) -> None:
        self._crew, self._expander, self._states = crew, expander, states
        self._step = ROOM // 16
        self._lookup: Any = None
        self._deliveries: list[Deliveries] = []
        self._buffers()

    def _buffers(self) -> None:
        self._era = self._states.era
        count, words = self._crew.count, self._states.words
        self._out = np.empty((count, ROOM, words), np.uint64)
        # Sorted by part: the rows themselves where they have one word.
        self._hashes = np.empty((count, count, ROOM + 1), np.uint64)
        self._order = np.empty((count, count, ROOM), np.int32)
        self._counts = np.zeros((count, count), np.int64)
        self._recent = np.zeros((count, _RECENT), np.uint64)
        self._info = np.empty((count, _PIECE), np.int64)
        self._source = np.empty((count, _PIECE), np.int64)
        self._todo = np.zeros((count, _LISTED, 5), np.int64)
        self._looped = np.zeros((count, _PIECE), np.int64)
        self._redo = np.empty((count, ROOM), np.int64)
        self._places = np.empty((count, ROOM), np.int64)
        self._left = np.empty((count, count * ROOM, 2), np.int64)
        # Nobody asks: who lacks an answer only says which row that was.
        self._ask = np.empty((1, 4), np.int64)

    def _renew(self) -> None:
        """Begin anew where rows were packed anew."""
        if self._states.words != self._out.shape[2]:
            self._buffers()
        elif self._states.era != self._era:
            self._recent[:] = 0
            self._era = self._states.era

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
        self._lookup = self._expander.lookup
        if not self._deliveries:
            claim = self._expander.tables.claim
            self._deliveries = [Deliveries(claim) for _ in range(self._crew.count)]
            links = (self._expander.shape.members + 1) ** 2
            self._scratch = np.zeros((self._crew.count, 2, links + _LINE), np.int64)
        self._lookups = [
            self._lookup._replace(
                taken=_apart(self._lookup.taken),
                event_taken=_apart(self._lookup.event_taken),
            )
            for _ in range(self._crew.count)
        ]

    def level(self, begin: int, end: int, joint: Ints | None) -> Iterator[int]:
        """Put all successors of rows begin to end into the set; yield how many at a time.

        `joint`: as `Expander.successors` takes it.
        """
        expander, crew = self._expander, self._crew
        pending = [(begin, end)]
        # They are asked for when all others are done: many lack the same.
        later = [np.empty(0, np.int64)]
        while pending:
            at, upto = pending.pop()
            if upto - at < ROWS_MIN:
                yield from self._alone(np.arange(at, upto), begin, joint)
                continue
            self._renew()
            self._read()
            # Who sorts out must know how large the table is.
            room = self._room_for(end - begin)
            step = min(self._step, (upto - at + crew.count - 1) // crew.count)
            bounds = [min(at + k * step, upto) for k in range(crew.count + 1)]
            if bounds[-1] < upto:
                pending.append((bounds[-1], upto))
            nothing = np.empty(0, np.int64)
            numbers = nothing if joint is None else joint

            def work(k: int) -> tuple[int, int, int, int]:
                return self._expand(k, bounds[k], bounds[k + 1], numbers, begin, room)  # noqa: B023

            done = crew.each(work)
            pending += [
                (done[k][0], bounds[k + 1])
                for k in reversed(range(crew.count))
                if done[k][0] < bounds[k + 1]
            ]
            self._add_up()
            for one in self._deliveries:
                one.made_room()
            each = [n for _, n, _, _ in done]
            expander.loops += sum(loops for *_, loops in done)
            self._insert(each)
            found = sum(each)
            yield found
            expanded = sum(after - first for (after, *_), first in zip(done, bounds, strict=False))
            self._step = max(64, min(room, int(0.8 * room * expanded / max(found, expanded, 1))))
            redo = [self._redo[k, :redone] for k, (_, _, redone, _) in enumerate(done)]
            again = np.concatenate(redo)
            if expanded == 0:
                # Not one fits: whoever is alone makes the room for it.
                again = np.arange(at, at + 1)
                pending[-1] = (at + 1, pending[-1][1])
            later.append(again)
        if sum(map(len, later)):
            yield from self._alone(np.concatenate(later), begin, joint)

    def _expand(
        self, k: int, begin: int, end: int, joint: Ints, base: int, room: int
    ) -> tuple[int, int, int, int]:
        """Return (first row not done, successors, rows to redo, loops) of one worker."""
        expander, states = self._expander, self._states
        tables, sets = expander.tables, expander.sets
        self._counts[k] = 0
        at, found, redone, loops = begin, 0, 0, 0
        # Piece by piece: what was written is sorted out while it is at hand.
        while at < end:
            after, n, _, again, idle = expansion.expand(
                self._lookups[k],
                tables.cells.sparse,
                tables.adds_table.sparse,
                sets,
                None if sets is None else self._deliveries[k].arrays,
                expander.shape,
                states.rows,
                np.empty(0, np.int64),
                at,
                end,
                joint,
                base,
                self._out[k, found : min(room, found + _PIECE)],
                self._info[k],
                self._source[k],
                self._ask,
                self._redo[k, redone:],
                self._todo[k],
                self._looped[k],
                self._scratch[k],
                expander.quiet,
            )
            self._sort_out(k, found, found + n)
            found, redone, loops = found + n, redone + again, loops + idle
            if after == at:
                break
            at = after
        return at, found, redone, loops

    def _add_up(self) -> None:
        for one in self._lookups:
            self._lookup.taken[:] += one.taken
            self._lookup.event_taken[:] += one.event_taken
            one.taken[:] = 0
            one.event_taken[:] = 0

    def count_up(self) -> None:
        """Count the steps that changed nothing into the tables."""
        for one in self._deliveries:
            one.count_into(self._expander.tables.out["taken"].array)

    def _alone(self, rows: Ints, base: int, joint: Ints | None) -> Iterator[int]:
        states = self._states
        for batch in self._expander.successors(
            lambda: states.rows, 0, len(rows), joint, rows, joint_base=base
        ):
            states.insert(batch.rows, len(batch.rows))
            yield len(batch.rows)

    # -- the set of rows -----------------------------------------------------------------

    def _insert(self, found: list[int]) -> None:
        """Insert what each worker sorted out, of so many rows."""
        states, parts = self._states, self._crew.count
        size = states.table.size
        ends = [-(-size * (k + 1) // parts) for k in range(parts)]
        aside = self._insert_single(ends) if states.is_direct else self._insert_wide(ends, found)
        for k, count in enumerate(aside):
            if count:
                states.insert(self._left_of(k, count), count)

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
        states, crew, places, out = self._states, self._crew, self._places, self._out
        room, table = max(1, *found), states.table
        ways = (self._hashes, self._order, self._counts)

        def insert(k: int) -> int:
            where = (k, table, states.shift, ends[k], states.rows, states.count, room)
            return int(shares.insert_wide(out, *ways, *where, places, self._left[k]))

        aside = crew.each(insert)
        new = crew.each(lambda k: int(shares.count_new(places[k], found[k])))
        firsts = [states.count + sum(new[:k]) for k in range(crew.count)]

        def settle(k: int) -> None:
            shares.settle_wide(out[k], found[k], places[k], table, states.rows, firsts[k])

        crew.each(settle)
        states.count += sum(new)
        return aside

    def _sort_out(self, k: int, begin: int, count: int) -> None:
        """Sort out rows from `begin` on of those that worker k found in this round."""
        states, recent, counts = self._states, self._recent[k], self._counts[k]
        rows, shift, hashes = self._out[k], states.shift, self._hashes[k]
        if states.is_direct:
            shares.sort_out_single(rows, begin, count, shift, recent, hashes, counts)
        else:
            lists = (hashes, self._order[k], counts, self._places[k])
            shares.sort_out_wide(rows, begin, count, shift, recent, *lists)

    def _left_of(self, k: int, count: int) -> npt.NDArray[np.uint64]:
        """Return the rows that part k had no place for."""
        if self._states.is_direct:
            return self._hashes[0, k, :count].reshape(-1, 1).copy()
        where = self._left[k, :count]
        return np.ascontiguousarray(self._out[where[:, 0], where[:, 1]])

    def take_in(self, found: list[npt.NDArray[np.uint64]]) -> None:
        """Insert rows that each worker is given."""
        self._renew()
        self._states.room_for(sum(map(len, found)))
        self._counts[:] = 0
        for k, rows in enumerate(found):
            self._out[k, : len(rows)] = rows
            self._sort_out(k, 0, len(rows))
        self._insert([len(rows) for rows in found])


def touch() -> None:
    """Have the loops loaded, or compiled, that only several workers need."""
    crew = Crew(2)
    expander: Any = None
    for words in (1, 2):
        states = RowSet(words, Budget(1 << 30), room=1 << 12)
        none = np.empty((0, words), np.uint64)
        Together(crew, expander, states).take_in([none, none])
    crew.close()
