"""States that a world's `same` does not tell apart: the search continues only from the first.

So each run found is a run of the world.  A state that was left out may lead to further states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joinproto.check.asking import ask_of_view, guard
from joinproto.check.engine.claims.judge import Judge
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import Ints, Rows
from joinproto.check.engine.tables.numbers import Numbers
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.freeze import freeze
from joinproto.check.memory import Budget
from joinproto.check.problems import ModelProblem, place_of
from joinproto.check.same import left_on_disk


class StateKeys:
    """Keys of states: the answers of `same` and of claims, then the parts that no view shows.

    So a state that some claim tells apart from the first state is judged, and is expanded.
    """

    def __init__(self, tables: Tables, judge: Judge, budget: Budget) -> None:
        self._tables, self._judge, self._budget = tables, judge, budget
        self._values = Numbers()
        self._answers: list[int] = []  # by combination of observations
        self._disks = [Numbers() for _ in range(tables.members)]
        self._disk_of: list[list[int]] = [[] for _ in range(tables.members)]
        self._keys: RowSet | None = None

    def first(self, rows: Rows) -> Ints:
        """Return the places of rows whose key is met for the first time, and add the keys."""
        keys = self._keys_of(rows)
        if self._keys is None:
            self._keys = RowSet(keys.shape[1], self._budget, numbered=True)
        known = self._keys.count
        numbers = self._keys.insert(keys, len(keys))
        fresh = np.flatnonzero(numbers >= known)
        _, first = np.unique(numbers[fresh], return_index=True)
        found: Ints = fresh[np.sort(first)]
        return found

    def repack(self, rows: Rows) -> None:
        """Compute the keys of all rows again, because they are packed in another way now."""
        self._keys = None
        self.first(rows)

    def _keys_of(self, rows: Rows) -> Rows:
        tables, layout = self._tables, self._tables.layout
        numbers = self._judge.number(rows, 0, len(rows))
        known = int(numbers.max(initial=-1)) + 1
        self._answers += [self._answer(number) for number in range(len(self._answers), known)]
        answers = np.array(self._answers, np.uint64)[numbers]
        disks = (self._disk(at)[layout.values(rows, at)] for at in range(tables.members))
        keys = [answers, *(rows & self._unseen(layout)).T, *disks]
        return np.ascontiguousarray(np.stack(keys, axis=1))

    def _answer(self, number: int) -> int:
        same, judge = self._tables.world.same, self._judge
        assert same is not None
        answer = guard("same(view)", lambda: same(judge.view(number)))
        try:
            frozen = freeze(answer)
        except ModelProblem as problem:
            found = f"results of same(view) cannot be compared: {problem.message}"
            raise ModelProblem(found, next=problem.next, place=place_of(same)) from problem
        # The flags hold the claims about the whole world, their premises, and `within`.
        local = tuple(ask_of_view(claim.property, judge.view(number)) for claim in judge.local)
        return self._values.add((frozen, int(judge.flags[number]), local))[0]

    def _unseen(self, layout: Layout) -> Rows:
        """Return the bits of a row that no view shows."""
        tables = self._tables
        shown = list(range(tables.members + (tables.monitor >= 0)))
        if tables.world.show_links:
            shown += range(tables.queue_field, tables.queue_field + tables.queue_count)
        unseen = np.full(layout.words, ~np.uint64(0))
        for field in shown:
            unseen[layout.word[field]] &= ~(layout.mask[field] << layout.shift[field])
        return unseen

    def _disk(self, field: int) -> Any:
        """Return the number of the disk's content for each local state of a member.

        A member that is stopped for good has another number.
        """
        of, values = self._disk_of[field], self._tables.values[field].values
        for local in values[len(of) :]:
            of.append(self._disks[field].add(left_on_disk(self._tables.world, local))[0])
        return np.array(of, np.uint64)
