"""The breadth-first search over the states of a world, level by level.

Claims are judged only on complete levels.  So the first run that breaks a claim is a shortest one,
and counts and traces are the same whenever the search is repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field

from joinproto.check.engine import Compiling, telling_of_compilation
from joinproto.check.engine.checkpoint import Checkpoint
from joinproto.check.engine.claims.found import Found
from joinproto.check.engine.expansion.expander import BATCH
from joinproto.check.engine.rows.marks import NO_MARKS
from joinproto.check.engine.shapes import Ints
from joinproto.check.engine.space import RowsTooWide, Space, TooManyHorizons
from joinproto.check.engine.stopping import INTERRUPTED, Stops, Tick
from joinproto.check.engine.symmetry.symmetry import SortedFormInexact
from joinproto.check.memory import LimitMet, MemoryLimitMet, collected_seldom, resident_bytes

_BATCHES_PER_CHECK = 32
"""The number of batches between two checks of the slow limits."""

_TICK_SECONDS = 0.2


@define
class Search(Space):
    """One search of one world; level k has the rows `found.levels[k]` to `found.levels[k + 1]`.

    `pause`: called before each level is expanded; if it returns True, the search ends there.
    `checkpoint`: keeps the progress; it needs its own `files`.  `goes_on`: continue from the
    checkpoint.
    """

    progress: Callable[[Tick], None] | None = None
    stop_at_violation: bool = True
    pause: Callable[[], bool] | None = None
    checkpoint: Checkpoint | None = None
    goes_on: bool = False
    found: Found = field(init=False, factory=Found)
    _ticked: float = field(init=False, default=0.0)
    _batches: int = field(init=False, default=0)

    def run(self) -> Found:
        """Explore until no state is left or a level has a violation, or a limit is met."""
        self.allow_numbering()
        if self.goes_on and self.checkpoint is not None:
            self.found = self.checkpoint.restore(self)
        began = time.perf_counter()
        self.tables.failing = {}
        try:
            with telling_of_compilation(lambda _: None) as compiling, collected_seldom():
                while True:
                    stops = self._stops(began, compiling)
                    self._ticked, self._batches = began, 0
                    try:
                        self._levels(stops)
                        break
                    except (SortedFormInexact, RowsTooWide, TooManyHorizons) as because:
                        self.found = Found()
                        self.begin_anew(because)
                # The report may ask unanswered questions again, about the runs that it shows.
                self.tables.forget_asked()
                if self.found.stopped_by:
                    self.budget.relax()
                self.found.seconds = time.perf_counter() - began
                self._tick(began)
        finally:
            self.tables.failing = None
            self.count_up()
            self.keep_form()
        return self.found

    def keep_answers(self) -> None:
        """Write members' answers to a file for the next search of this world."""
        if self.answers is not None and not self.found.stopped_by:
            self.tables.states_before = self.states.count
            world = self.world
            is_all = not self.found.violated and self.renaming is None
            is_all &= world.within is None and world.same is None
            self.answers.keep(self.states.count if is_all else None)

    def _stops(self, began: float, compiling: Compiling) -> Stops:
        return Stops(limits=self.limits, budget=self.budget, began=began, compiling=compiling)

    def _levels(self, stops: Stops) -> None:
        found = self.found
        if not found.levels:
            found.generated = self.begins
            found.levels = [0, self.begins]
        self.judge.go_on = stops.while_judging
        with self._noting_stop(stops):
            numbers = self._judge_level()
        if found.stopped_by:
            return
        while not (found.violated and self.stop_at_violation):
            begin, end = found.levels[-2], found.levels[-1]
            if begin == end:
                self._write_checkpoint(now=False)
                found.levels.pop()
                return
            if self.pause is not None and self.pause():
                return
            found.stopped_by = self.cut_by or stops.before_level(self.states.count)
            self._write_checkpoint(now=found.stopped_by != "")
            if found.stopped_by:
                return
            with self._noting_stop(stops):
                found.stopped_by = self._expand_level(begin, end, numbers, stops)
                if found.stopped_by:
                    # Runs are rebuilt from all answers, and the last answers are not read yet.
                    self.expander.refresh()
            if self.tables.failing:
                self._raise_failing(begin, end)
            if found.stopped_by:
                found.frontier = end - begin
                return
            found.levels.append(self.states.count)
            with self._noting_stop(stops):
                numbers = self._judge_level()
            found.stopped_by = found.stopped_by or stops.after_level()
            if found.stopped_by:
                return

    @contextmanager
    def _noting_stop(self, stops: Stops) -> Iterator[None]:
        """Note in `found` why the search ends, if a limit ends it within the `with` block."""
        try:
            yield
        except (MemoryLimitMet, MemoryError):
            self.found.stopped_by = stops.of_memory()
        except LimitMet as ended:
            self.found.stopped_by = str(ended)

    def _write_checkpoint(self, *, now: bool) -> None:
        """Write the checkpoint, if the search has one; called between two levels."""
        if self.checkpoint is not None:
            self.checkpoint.write_if_due(self, self.found, now=now)

    def _judge_level(self) -> Ints | None:
        joint = self.world.together is not None
        return self.found.judge(self.judge, len(self.found.levels) - 2, self.rows(), joint=joint)

    def _expand_level(self, begin: int, end: int, numbers: Ints | None, stops: Stops) -> str:
        """Add all successors of rows begin to end; return the limit that stopped this, or ""."""
        if numbers is not None:
            self.expander.refresh()
        for count in self._level(begin, end, numbers):
            self.found.generated += count
            self._batches += 1 + count // BATCH
            if self.limits.is_interrupted():
                return INTERRUPTED
            if self._batches >= _BATCHES_PER_CHECK:
                self._batches = 0
                stopped_by = stops.within_level(self.states.count)
                if stopped_by:
                    return stopped_by
                if time.perf_counter() - self._ticked > _TICK_SECONDS:
                    self._ticked = time.perf_counter()
                    self._tick(stops.began)
        return ""

    def _raise_failing(self, begin: int, end: int) -> None:
        # Imported here, because that package imports this module.
        from joinproto.check.engine.runs.failing import raise_failing

        raise_failing(self, begin, end)

    def _level(self, begin: int, end: int, numbers: Ints | None) -> Iterator[int]:
        """Add all successors of rows begin to end to the states; yield the size of each batch."""
        inside = None if self.world.within is None else self._within(begin, end)
        self.expander.quiet = True
        try:
            if inside is None and self._may_sleep(numbers):
                self.expander.marks = self.states.marks.expand(begin, end)
            if self.parallel_levels is not None:
                yield from self.parallel_levels.level(begin, end, numbers, inside)
                return
            places = (begin, end) if inside is None else (0, len(inside))
            for batch in self.expander.successors(self.rows, *places, numbers, inside, begin):
                if self.renaming is not None:
                    self.renaming.canonical(batch.rows)
                yield self.insert_found(batch.rows, batch.via)
        finally:
            self.expander.quiet = False
            self.expander.marks = NO_MARKS
            self.found.generated += self.expander.counted()

    def count_up(self) -> None:
        """Add the counts that are kept outside the tables to the tables, which is slow."""
        if self.parallel_levels is not None:
            self.parallel_levels.count_up()
        self.expander.count_up()

    def _may_sleep(self, joint: Ints | None) -> bool:
        """Return whether a step may be left out because another step reaches the same state."""
        contents, states = self.tables.contents, self.states
        alike = joint is not None or self.alike is not None or self.renaming is not None
        return contents is not None and not alike and not states.is_direct

    def _tick(self, began: float) -> None:
        if self.progress is None:
            return
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
