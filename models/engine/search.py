"""Breadth first over numbered states, level by level.

A level is complete before anything is said about it, so the first run found is a shortest
one, and counts and traces are the same on every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import Factory, define, field, frozen

from models.answers import Answers
from models.engine import Compiling, kernel, telling_of_compilation
from models.engine.arrays import Arrays
from models.engine.judge import Claim, Judge
from models.engine.layout import Layout
from models.engine.progress import Tick
from models.engine.rowset import RowSet, in_one
from models.engine.symmetry import Restart, Symmetry
from models.engine.tables import Tables
from models.engine.workers import Crew, Together
from models.memory import Budget, TooMany, default_limit_bytes, resident_bytes
from models.problems import ModelProblem
from models.world import World

_BATCH = 1 << 15


WORDS_MAX = 2
"""Rows that would be wider get numbers for what is under way, in place of bits."""

INTERRUPTED = "interrupted"
"""Why a search ended that somebody stopped by hand."""


@frozen(kw_only=True)
class Limits:
    """Where a search stops before its end; None: only where the machine does.

    `interrupted`: asked now and then; True ends the search, and what it found is told.
    """

    states: int | None = None
    memory_bytes: int | None = None
    seconds: float | None = None
    interrupted: Callable[[], bool] | None = None

    def is_interrupted(self) -> bool:
        return self.interrupted is not None and self.interrupted()


@define
class Batch:
    """Successors as they come: `rows[i]` by step `info[i]` from row `source[i]`."""

    rows: npt.NDArray[np.uint64]
    info: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]


class Expander:
    """Successors of rows, with the member code behind the tables called where it must.

    `quiet`: steps that change nothing are only counted, in `loops`.
    """

    def __init__(self, tables: Arrays) -> None:
        self.tables = tables
        self.shape = tables.shape()
        self.on_layout: list[Callable[[Any], None]] = []
        self.on_new: list[Callable[[], Any]] = []
        self.loops = 0
        self.quiet = False
        self._room = _BATCH
        self._buffers()
        self._read()

    def _read(self) -> None:
        self.lookup = self.tables.lookup()
        self.sets = self.tables.sets()

    def _buffers(self) -> None:
        words = self.tables.layout.words
        self._out = np.empty((self._room, words), np.uint64)
        self._info = np.empty(self._room, np.int64)
        self._source = np.empty(self._room, np.int64)
        self._ask = np.empty((1 << 15, 4), np.int64)
        self._redo = np.empty(1 << 15, np.int64)
        self._todo = np.zeros((self._room, 5), np.int64)
        self._looped = np.zeros(self._room, np.int64)

    def refresh(self) -> None:
        """Take in what was numbered since; packs all rows anew where they no longer fit."""
        tables = self.tables
        for closed in self.on_new:
            closed()
        if tables.outgrown():
            self.repack(tables.grow_layout())
        self._read()

    def repack(self, old: Layout) -> None:
        """Pack all rows anew that were packed by `old`."""
        for changed in self.on_layout:
            changed(old)
        self._buffers()

    def successors(
        self,
        rows: Callable[[], npt.NDArray[np.uint64]],
        begin: int,
        end: int,
        joint: npt.NDArray[np.int64] | None = None,
        picked: npt.NDArray[np.int64] | None = None,
        joint_base: int | None = None,
    ) -> Iterator[Batch]:
        """Yield all successors of `rows()[begin:end]`; a batch is good until the next.

        `joint`: the number of each row's combination of observations, from `begin` on, or from
        `joint_base`.  `picked`: row numbers, of which begin and end are then places.
        """
        nothing = np.empty(0, np.int64)
        joint = nothing if joint is None else joint
        if joint_base is None:
            joint_base = begin if picked is None else 0
        waiting = [(nothing if picked is None else picked, begin, end)]
        while waiting:
            chosen, at, upto = waiting.pop()
            while at < upto:
                after, n, asked, redone, loops = kernel.expand(
                    self.lookup,
                    self.tables.cells.sparse,
                    self.tables.adds_table.sparse,
                    self.sets,
                    self.shape,
                    rows(),
                    chosen,
                    at,
                    upto,
                    joint,
                    joint_base,
                    self._out,
                    self._info,
                    self._source,
                    self._ask,
                    self._redo,
                    self._todo,
                    self._looped,
                    self.quiet,
                )
                self.loops += loops
                if n:
                    yield Batch(self._out[:n], self._info[:n], self._source[:n])
                if after == at:
                    self._room *= 2
                    self._buffers()
                at = after
                if asked:
                    self.tables.fill(self._ask[:asked])
                    self.tables.refuse_too_much()
                    again = self._redo[:redone].copy()
                    self.refresh()
                    waiting.append((chosen, at, upto))
                    waiting.append((again, 0, len(again)))
                    break


@define
class Hit:
    """Where a claim was first broken or reached: the level and the rows."""

    claim: Claim
    level: int
    rows: npt.NDArray[np.int64]


@define
class Found:
    """A finished (or stopped) search."""

    levels: list[int] = Factory(list)  # first row of each level, and one past the last
    generated: int = 0
    hits: list[Hit] = Factory(list)
    stopped_by: str = ""
    violated: bool = False
    seconds: float = 0.0
    frontier: int = 0


class TooWide(Exception):
    """Rows became so wide that contents shall have numbers; begin again."""


class TooFar(Exception):
    """Members' horizons are too many for that after all; begin again with bits."""


@define
class Search:
    """One search of one world.  After `run`, rows of level k are levels[k] to levels[k+1].

    `begins`: so many rows, the first ones, are states in which runs begin.

    `pause`: asked before each level is expanded; True ends the search there, as it stands.
    `workers`: threads that expand levels; with symmetry, one does.
    `answers`: of members, where they are known from another run.
    `numbers_contents`: rows may get numbers in place of bits: see `models/engine/contents.py`.
    """

    world: World
    limits: Limits = Factory(Limits)
    symmetry: bool = False
    progress: Callable[[Tick], None] | None = None
    stop_at_violation: bool = True
    pause: Callable[[], bool] | None = None
    numbers_contents: bool = True
    answers: Answers | None = None
    workers: int = 1
    tables: Tables = field(init=False)
    judge: Judge = field(init=False)
    expander: Expander = field(init=False)
    states: RowSet = field(init=False)
    renaming: Symmetry | None = field(init=False, default=None)
    found: Found = field(init=False, factory=Found)
    budget: Budget = field(init=False)
    begins: int = field(init=False, default=1)
    _crew: Crew | None = field(init=False, default=None)
    _together: Together | None = field(init=False, default=None)
    _may_number: bool = field(init=False, default=False)
    _bytes_before: int = field(init=False, default=0)
    _began: float = field(init=False, default=0.0)
    _compiling: Compiling | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.tables = Tables(self.world, self.answers)
        limit = self.limits.memory_bytes
        self.budget = Budget(default_limit_bytes() if limit is None else limit)
        self._bytes_before = resident_bytes()
        self.tables.bound_by(self.budget)
        self.judge = Judge(self.tables, self.budget)
        if self.world.within is not None and self.symmetry:
            raise ModelProblem(
                f"world {self.world.name} has a bound, within, which may tell members apart",
                next="run it with --no-symmetry, or without within",
            )
        if self.workers > 1 and not self.symmetry and self.world.within is None:
            self._crew = self.judge.crew = Crew(self.workers)
        if self.symmetry:
            self.renaming = Symmetry(self.tables)
            self.judge.renamed = self.renaming.swapped_views
        self._begin()

    def _begin(self) -> None:
        begins = self.tables.initial()
        if self.renaming is not None:
            try:
                self.renaming.refresh()
            except Restart:
                self._by_permutation()
        self.tables.grow_layout()
        self.expander = Expander(self.tables)
        if self.renaming is not None:
            self.expander.on_new.append(self.renaming.refresh)
        self.expander.on_new.append(self._refuse_far)
        self.states = RowSet(self.tables.layout.words, self.budget)
        self.expander.on_layout.append(self._repack)
        pack = self.tables.layout.pack
        rows = np.stack([pack(np.array(fields), messages) for fields, messages in begins])
        if self.renaming is not None:
            given = rows.copy()
            self.renaming.canonical(rows)
            self._refuse_other_beginnings(self.renaming, given)
        self.states.insert(rows, len(rows))
        self.begins = self.states.count
        if self._crew is not None:
            self.states.over = self._crew.over
            self._together = Together(self._crew, self.expander, self.states)

    @staticmethod
    def _refuse_other_beginnings(renaming: Symmetry, rows: npt.NDArray[np.uint64]) -> None:
        known = {row.tobytes() for row in rows}
        if any(renaming.images_of(row.reshape(1, -1)) - known for row in rows):
            raise ModelProblem(
                "the initial state changes when interchangeable members are renamed",
                next="start them alike, or run with --no-symmetry",
            )

    def _by_permutation(self) -> None:
        self.renaming = Symmetry(self.tables, sorted_form=False)
        self.judge.renamed = self.renaming.swapped_views
        self.renaming.refresh()

    def _repack(self, old: Any) -> None:
        layout, tables = self.tables.layout, self.tables
        if self._is_too_wide():
            raise TooWide
        messages = min(old.capacity, tables.slots)
        count = self.states.count
        rows = layout.repack(self.states.rows, count, old, messages)
        if self.renaming is not None:
            # Which renaming is the least depends on where the fields lie.
            self.renaming.canonical(rows)
        self.states.replace(rows, count)

    @property
    def row_bits(self) -> int:
        """How many bits a state has: its fields, and one for each message of a set."""
        return self.tables.layout.bits + self.tables.slots

    def rows(self) -> npt.NDArray[np.uint64]:
        return self.states.rows

    def _within(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        """Return which of these rows the world's `within` lets go on."""
        numbers = self.judge.number(self.rows(), begin, end)
        flags = self.judge.flags[numbers]
        inside = (flags >> np.uint64(self.judge.within_bit)) & np.uint64(1)
        return begin + np.flatnonzero(inside)

    @property
    def beyond(self) -> int:
        """How many of the states found have no steps, because they are not `within`."""
        if self.world.within is None:
            return 0
        return self.states.count - len(self._within(0, self.states.count))

    def joint_of(
        self, begin: int, end: int, picked: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.int64] | None:
        """Return the combination numbers the expander wants, or None where no step needs them."""
        if self.world.together is None:
            return None
        if picked is None:
            return self.judge.number(self.rows(), begin, end)
        numbers = np.zeros(int(picked.max()) + 1, np.int64)
        numbers[picked] = self.judge.number(self.rows(), 0, len(picked), picked)
        return numbers

    def successors(
        self, begin: int, end: int, picked: npt.NDArray[np.int64] | None = None
    ) -> Iterator[Batch]:
        """Yield canonical successors of rows begin to end (of `picked`, where given)."""
        if picked is None and self.world.within is not None:
            picked = self._within(begin, end)
            begin, end = 0, len(picked)
            if end == 0:
                return
        joint = self.joint_of(begin, end, picked)
        if joint is not None:
            self.expander.refresh()
        for batch in self.expander.successors(self.rows, begin, end, joint, picked):
            if self.renaming is not None:
                self.renaming.canonical(batch.rows)
            yield batch

    # -- the search --------------------------------------------------------------------

    def run(self) -> Found:
        """Explore until the end, the first violation's level, or a limit."""
        self._may_number = self.numbers_contents and self.renaming is None
        self._began = time.perf_counter()
        with telling_of_compilation(lambda _: None) as self._compiling:
            return self._run_whole()

    def _run_whole(self) -> Found:
        try:
            while True:
                try:
                    return self._run()
                except Restart:
                    self._by_permutation()
                except TooWide:
                    self.tables.number_contents()
                    contents = self.tables.contents
                    if contents is not None and contents.are_too_far():
                        self._may_number = False
                        self.tables.give_bits()
                except TooFar:
                    self._may_number = False
                    self.tables.give_bits()
                self.found = Found()
                self.tables.forget_taken()
                self._begin()
        finally:
            self._may_number = False
            if self._crew is not None:
                self._crew.close()
                self.states.over = in_one
                self._crew = self.judge.crew = self._together = None

    def _is_too_late(self) -> bool:
        """Return whether the limit of seconds is over: of all that was begun, but the compiler."""
        if self.limits.seconds is None:
            return False
        compiled = 0.0 if self._compiling is None else self._compiling.seconds
        return time.perf_counter() - self._began - compiled > self.limits.seconds

    def _is_too_wide(self) -> bool:
        """Return whether numbers of contents shall take the place of bits."""
        tables = self.tables
        return self._may_number and tables.slots > 0 and tables.layout.words > WORDS_MAX

    def _refuse_far(self) -> None:
        contents = self.tables.contents
        if self._may_number and contents is not None and contents.are_too_far():
            raise TooFar

    def _run(self) -> Found:
        found, began = self.found, self._began
        found.generated = self.begins
        found.levels = [0, self.begins]
        numbers = self._judge_level(0)
        last_tick = began
        batches = 0
        while not (found.violated and self.stop_at_violation):
            begin, end = found.levels[-2], found.levels[-1]
            if begin == end:
                found.levels.pop()
                break
            if self.pause is not None and self.pause():
                break
            if self.limits.is_interrupted():
                found.stopped_by = INTERRUPTED
                break
            if self.limits.states is not None and self.states.count >= self.limits.states:
                found.stopped_by = f"the limit of {self.limits.states:,} states"
                break
            if not self.budget.allows(0):
                found.stopped_by = self._memory_text()
                break
            try:
                if numbers is not None:
                    self.expander.refresh()
                for count in self._level(begin, end, numbers):
                    found.generated += count
                    batches += 1 + count // _BATCH
                    if self.limits.is_interrupted():
                        found.stopped_by = INTERRUPTED
                        break
                    if batches >= 32:
                        batches = 0
                        now = time.perf_counter()
                        if not self.budget.allows(0):
                            raise TooMany
                        if self._is_too_late():
                            found.stopped_by = f"the limit of {self.limits.seconds:g} seconds"
                            break
                        if (
                            self.limits.states is not None
                            and self.states.count >= 2 * self.limits.states
                        ):
                            found.stopped_by = f"the limit of {self.limits.states:,} states"
                            break
                        if self.progress is not None and now - last_tick > 0.2:
                            last_tick = now
                            self._tick(began)
            except (TooMany, MemoryError):
                found.stopped_by = self._memory_text()
            if found.stopped_by:
                found.frontier = end - begin
                break
            found.levels.append(self.states.count)
            try:
                numbers = self._judge_level(len(found.levels) - 2)
            except (TooMany, MemoryError):
                found.stopped_by = self._memory_text()
                break
            if self._is_too_late():
                found.stopped_by = f"the limit of {self.limits.seconds:g} seconds"
                break
        # What was asked for and not answered may be asked again: a report does, of its runs.
        self.tables.forget_asked()
        if found.stopped_by:
            self.budget.relax()
        found.seconds = time.perf_counter() - began
        if self.progress is not None:
            self._tick(began)
        return found

    def _level(self, begin: int, end: int, numbers: npt.NDArray[np.int64] | None) -> Iterator[int]:
        """Take in all successors of rows begin to end; yields how many at a time."""
        if self.renaming is not None:
            for batch in self.successors(begin, end):
                self.states.insert(batch.rows, len(batch.rows))
                yield len(batch.rows)
            return
        self.expander.quiet = True
        try:
            if self.world.within is not None:
                picked = self._within(begin, end)
                rows = 0, len(picked), numbers, picked, begin
                for batch in self.expander.successors(self.rows, *rows):
                    self.states.insert(batch.rows, len(batch.rows))
                    yield len(batch.rows)
                return
            if self._together is not None:
                yield from self._together.level(begin, end, numbers)
                return
            for batch in self.expander.successors(self.rows, begin, end, numbers):
                self.states.insert(batch.rows, len(batch.rows))
                yield len(batch.rows)
        finally:
            self.expander.quiet = False
            self.found.generated += self.expander.loops
            self.expander.loops = 0

    @property
    def numbered_bytes(self) -> int:
        """What the numbering takes: its tables, and the values that are numbered.

        What the process holds more than before the search and not in states is reckoned to it.
        """
        states = self.states.bytes_used + self.judge.bytes_used
        return max(self.tables.bytes_used, resident_bytes() - self._bytes_before - states)

    def _memory_text(self) -> str:
        return (
            f"the memory limit of {self.budget.limit_bytes / 2**20:,.0f} MiB "
            f"({resident_bytes() / 2**20:,.0f} MiB in use)"
        )

    def _tick(self, began: float) -> None:
        assert self.progress is not None
        found = self.found
        self.progress(
            Tick(
                len(found.levels) - 1,
                self.states.count,
                found.generated,
                self.states.count - found.levels[-2] if len(found.levels) > 1 else 1,
                resident_bytes(),
                time.perf_counter() - began,
            )
        )

    # -- judging a level ---------------------------------------------------------------

    def _judge_level(self, level: int) -> npt.NDArray[np.int64] | None:
        """Judge the rows of one level; returns their combination numbers where steps need them."""
        begin, end = self.found.levels[level], self.found.levels[level + 1]
        if begin == end:
            return None
        judge = self.judge
        bad = judge.watch(self.rows(), begin, end)
        if len(bad):
            for claim in judge.local:
                if claim.property.kind != "always":
                    continue
                self._hit(claim, level, judge.breaking(claim, self.rows(), bad))
        for claim in judge.local:
            if claim.property.kind == "sometimes" and self._is_open(claim):
                self._hit(claim, level, judge.reached(claim, self.rows(), begin, end))
        if not judge.combines:
            return None
        open_claims = [claim for claim in judge.whole if self._is_open(claim)]
        if not open_claims and self.world.together is None:
            return None
        numbers = judge.number(self.rows(), begin, end)
        flags = judge.flags[numbers]
        for claim in open_claims:
            holds = (flags >> np.uint64(claim.bit)) & np.uint64(1)
            if claim.property.kind == "always":
                self._hit(claim, level, begin + np.flatnonzero(holds == 0))
            elif claim.property.kind == "sometimes":
                self._hit(claim, level, begin + np.flatnonzero(holds))
        return numbers if self.world.together is not None else None

    def _is_open(self, claim: Claim) -> bool:
        return claim.property.kind == "always" or (
            claim.property.kind == "sometimes"
            and all(hit.claim is not claim for hit in self.found.hits)
        )

    def _hit(self, claim: Claim, level: int, rows: npt.NDArray[Any]) -> None:
        if len(rows) and all(hit.claim is not claim for hit in self.found.hits):
            self.found.hits.append(Hit(claim, level, rows.astype(np.int64)))
            if claim.property.kind == "always":
                self.found.violated = True
