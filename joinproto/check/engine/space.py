"""The states of one world as rows: how they are packed and told apart, and their successors.

If rows turn out too wide during a search, the search begins again with another form of rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from weakref import proxy

import numpy as np
from attrs import Factory, define, field

from joinproto.check.engine.claims.judge import Judge
from joinproto.check.engine.expansion.expander import Batch, Expander
from joinproto.check.engine.expansion.workers import ParallelLevels
from joinproto.check.engine.rows.row_file import RowFiles
from joinproto.check.engine.rows.rowset import RowSet, in_one_thread
from joinproto.check.engine.rows.threads import Workers
from joinproto.check.engine.shapes import Ints, RowMarks, Rows
from joinproto.check.engine.stopping import Limits, Stops
from joinproto.check.engine.symmetry.same_states import StateKeys
from joinproto.check.engine.symmetry.symmetry import SortedFormInexact, Symmetry
from joinproto.check.engine.tables.answers import Answers
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.memory import Budget, default_limit_bytes, resident_bytes
from joinproto.check.problems import ModelProblem
from joinproto.check.world import World

_PIECE = 1 << 20
"""The number of states whose `within` is evaluated at once."""

WORDS_MAX = 2
"""If rows would have more words, they get numbers for the messages under way in place of bits."""


class RowsTooWide(Exception):
    """Rows became too wide; begin again with numbers for the messages under way."""


class TooManyHorizons(Exception):
    """Members have too many horizons for numbered messages; begin again with bits."""


@define
class Space:
    """The states of one world that are known, each of them a row.

    `begins`: the number of initial states, which are the first rows.  `cut_by`: the limit at which
    further initial states were left out, or "".

    `workers`: how many threads expand levels; only one if the world has `same`.  `answers`:
    members' answers that are known from an earlier run.  `numbers_contents`: whether rows may get
    numbers in place of bits (`joinproto/check/engine/tables/contents.py`); `may_number`: whether
    they still may.  `files`: the files that hold the rows; None means that the rows are in memory.
    `looked_at`: the number of rows, from the first on, for which the answer of `within` is known;
    `outside`: for how many of these it is false.
    """

    world: World
    limits: Limits = Factory(Limits)
    symmetry: bool = False
    numbers_contents: bool = True
    answers: Answers | None = None
    workers: int = 1
    files: RowFiles | None = None
    tables: Tables = field(init=False)
    judge: Judge = field(init=False)
    expander: Expander = field(init=False)
    states: RowSet = field(init=False)
    renaming: Symmetry | None = field(init=False, default=None)
    budget: Budget = field(init=False)
    begins: int = field(init=False, default=1)
    alike: StateKeys | None = field(init=False, default=None)
    parallel_levels: ParallelLevels | None = field(init=False, default=None)
    cut_by: str = field(init=False, default="")
    may_number: bool = field(init=False, default=False)
    looked_at: int = field(init=False, default=0)
    outside: int = field(init=False, default=0)
    _made: float = field(init=False, factory=time.perf_counter)
    _workers: Workers | None = field(init=False, default=None)
    _bytes_before: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        # Which states `same` keeps depends on the order of rows, which known answers change.
        if self.symmetry or not self.numbers_contents or self.world.same is not None:
            self.answers = None
        self._bytes_before = resident_bytes()
        self.tables = Tables(self.world, self.answers)
        limit = self.limits.memory_bytes
        self.budget = Budget(default_limit_bytes() if limit is None else limit)
        if self.files is not None:
            self.budget.let_go = self.files.let_go
        self.tables.bound_by(self.budget)
        if self.world.same is not None and self.symmetry:
            raise ModelProblem(
                f"world {self.world.name} has same(view), which may tell members apart",
                next="run it with --no-symmetry, or without `same`",
            )
        # Which of several states that are the same continues depends on the order of rows.
        if self.workers > 1 and self.world.same is None:
            self._workers = Workers(self.workers)
        self.judge_anew(sorted_form=True)
        self._begin()

    def judge_anew(self, *, sorted_form: bool) -> None:
        """Build the judge and the renaming from the present tables.

        `sorted_form`: as in `Symmetry`, if members are renamed.
        """
        self.judge = Judge(self.tables, self.budget)
        self.judge.workers = self._workers
        if self.symmetry:
            self._make_renaming(sorted_form=sorted_form)

    def _begin(self) -> None:
        begins = self.tables.initial(self._is_cut)
        self.looked_at = self.outside = 0
        if self.renaming is not None:
            try:
                self.renaming.refresh()
            except SortedFormInexact:
                self._make_renaming(sorted_form=False).refresh()
        self.tables.grow_layout()
        self.expand_anew()
        self.states = RowSet(self.tables.layout.words, self.budget, files=self.files)
        most = self.limits.states
        expected = self.tables.states_before
        self.states.expect(expected if most is None else min(most, expected))
        pack = self.tables.layout.pack
        rows = np.stack([pack(np.array(fields), messages) for fields, messages in begins])
        if self.renaming is not None:
            given = rows.copy()
            self.renaming.canonical(rows)
            self._refuse_other_beginnings(self.renaming, given)
        if self.world.same is not None:
            self.alike = StateKeys(self.tables, self.judge, self.budget)
        self.insert_found(rows)
        self.begins = self.states.count
        self.share_out()

    def expand_anew(self) -> None:
        """Build the expander from the present tables."""
        self.expander = Expander(self.tables)
        if self.renaming is not None:
            self.expander.on_new.append(self.renaming.refresh)
        # Weak references: otherwise the expander keeps all states until garbage is collected.
        own = proxy(self)
        self.expander.on_new.append(partial(type(self)._refuse_many_horizons, own))
        self.expander.on_layout.append(partial(type(self)._repack, own))

    def share_out(self) -> None:
        """Let all workers expand the present states."""
        if self._workers is not None:
            self.states.over = self._workers.over
            self.parallel_levels = ParallelLevels(
                self._workers, self.expander, self.states, self.renaming
            )
            self.parallel_levels.ahead = self.judge.ask_ahead

    def _is_cut(self) -> bool:
        """Return whether a limit ends the level that has begun; `cut_by` says which."""
        stops = Stops(limits=self.limits, budget=self.budget, began=self._made)
        self.cut_by = stops.before_level(0) or stops.after_level()
        return bool(self.cut_by)

    @staticmethod
    def _refuse_other_beginnings(renaming: Symmetry, rows: Rows) -> None:
        known = {row.tobytes() for row in rows}
        if any(renaming.images_of(row.reshape(1, -1)) - known for row in rows):
            raise ModelProblem(
                "the initial state changes when interchangeable members are renamed",
                next="start them alike, or run with --no-symmetry",
            )

    def _make_renaming(self, *, sorted_form: bool) -> Symmetry:
        self.renaming = Symmetry(self.tables, sorted_form=sorted_form)
        self.judge.renamed = self.renaming.code_comparison.swapped_views
        return self.renaming

    def _repack(self, old: Any) -> None:
        layout, tables = self.tables.layout, self.tables
        if self._is_too_wide():
            raise RowsTooWide
        count = self.states.count
        rows = self.states.rows_in_new_file(layout.words)
        if rows is None and layout.words == old.words:
            rows = self.states.rows
        if rows is None:
            rows = np.empty((count, layout.words), np.uint64)
        for begin, end in self.states.pieces(count):
            piece = rows[begin:end]
            tables.repacked(self.states.rows[begin:end], old, piece)
            if self.renaming is not None:
                # The least renaming of a row depends on where its fields lie.
                self.renaming.canonical(piece)
        self.states.replace(rows[:count], count)
        if self.alike is not None:
            self.alike.repack(self.states.rows[:count])

    @property
    def row_bits(self) -> int:
        """The number of bits of a state: its fields' bits, one a message slot, and one more."""
        counts = self.tables.value_counts()
        return sum((max(1, count) - 1).bit_length() for count in counts) + self.tables.slots + 1

    def rows(self) -> Rows:
        return self.states.rows

    def _within(self, begin: int, end: int) -> Ints:
        """Return the rows for which the world's `within` holds; count the others, each once."""
        numbers = self.judge.number(self.rows(), begin, end)
        inside = begin + np.flatnonzero(self.judge.have_bit(numbers, self.judge.within_bit))
        if begin == self.looked_at:
            self.looked_at = end
            self.outside += end - begin - len(inside)
        return inside

    @property
    def beyond(self) -> int:
        """The number of found states that have no steps because they are not `within`."""
        if self.world.within is None:
            return 0
        # In pieces, because all states at once would take twice the memory.
        while self.looked_at < self.states.count:
            begin = self.looked_at
            self._within(begin, min(self.states.count, begin + _PIECE))
        return self.outside

    def joint_of(self, begin: int, end: int, picked: Ints | None = None) -> Ints | None:
        """Return the combinations from row `begin` on (row 0 if `picked`); None if not needed."""
        if self.world.together is None:
            return None
        if picked is None:
            return self.judge.number(self.rows(), begin, end)
        numbers = np.zeros(int(picked.max()) + 1, np.int64)
        numbers[picked] = self.judge.number(self.rows(), 0, len(picked), picked)
        return numbers

    def successors(self, begin: int, end: int, picked: Ints | None = None) -> Iterator[Batch]:
        """Yield the canonical successors of rows begin to end, or of the rows `picked`."""
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

    def steps_out_of(self, held: list[Rows]) -> Iterator[Batch]:
        """Yield the successors of rows that are not in the set, without renaming their members.

        `held`: a list with one item, the rows.  The caller replaces it if rows are packed again.
        """
        count, joint = len(held[0]), None
        if self.world.together is not None:
            joint = self.judge.number(held[0], 0, count)
        self.expander.refresh()
        yield from self.expander.successors(lambda: held[0], 0, count, joint)

    def lacking(self, begin: int, end: int) -> Ints:
        """Return the rows from begin to end that have steps whose outcomes are not known yet."""
        inside = self.world.within is not None
        picked = self._within(begin, end) if inside else np.arange(begin, end)
        joint = self.joint_of(begin, end, picked) if len(picked) else None
        self.expander.refresh()
        return self.expander.lacking(self.rows(), picked, joint)

    def insert_found(self, rows: Rows, via: RowMarks | None = None) -> int:
        """Add the rows that are new, marked by `via`; return the number of all `rows`."""
        if self.alike is None:
            self.states.insert(rows, len(rows), via)
        else:
            kept = rows[self.alike.first(rows)]
            self.states.insert(kept, len(kept))
        return len(rows)

    @property
    def numbered_bytes(self) -> int:
        """The bytes of the numbering: its tables and the numbered values.

        All memory that the process took since the search began, except for states, is included.
        """
        states = self.states.bytes_used + self.judge.bytes_used
        return max(self.tables.bytes_used, resident_bytes() - self._bytes_before - states)

    def _is_too_wide(self) -> bool:
        """Return whether to begin again with numbers of contents in place of bits."""
        tables, renaming = self.tables, self.renaming
        # Members that can be sorted are cheaper to rename than contents are to number.
        may = self.may_number and (renaming is None or not renaming.sorted_form)
        return may and tables.slots > 0 and tables.layout.words > WORDS_MAX

    def _refuse_many_horizons(self) -> None:
        contents = self.tables.contents
        if self.may_number and contents is not None and contents.have_too_many_horizons():
            raise TooManyHorizons

    def allow_numbering(self) -> None:
        """Allow rows to get numbers in place of bits from now on, if messages have senders."""
        self.may_number = self.numbers_contents and self.tables.with_sender

    def begin_anew(self, because: SortedFormInexact | RowsTooWide | TooManyHorizons) -> None:
        """Begin again in the other form of rows that `because` asks for."""
        match because:
            case SortedFormInexact():
                pass
            case RowsTooWide():
                if self.tables.number_contents().have_too_many_horizons():
                    self._give_bits()
            case TooManyHorizons():
                self._give_bits()
        if self.renaming is not None:
            # Rows have other fields now; all permutations of the members are compared.
            self._make_renaming(sorted_form=False).refresh()
        self.tables.forget_taken()
        # No worker waits any longer for the questions that have no answer yet.
        self.tables.forget_asked()
        self._begin()

    def _give_bits(self) -> None:
        self.may_number = False
        self.tables.give_bits()

    def keep_form(self) -> None:
        """Fix the form of rows, and end the workers, because one thread does the rest."""
        self.may_number = False
        if self._workers is not None:
            self._workers.close()
            self.states.over = in_one_thread
            self._workers = self.judge.workers = self.parallel_levels = None
