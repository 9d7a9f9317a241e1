"""Hand a local search over to Spark: its progress is kept, and its states are moved to files."""

from __future__ import annotations

import itertools
import time
import uuid
from functools import partial
from typing import Any
from weakref import proxy

import numpy as np
from attrs import define, field

from joinproto.check.engine.claims.found import Hit
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.runs.paths import counters_of, put_counters_back
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Ints
from joinproto.check.report import Growth
from spark_explore.frontier import Frontier
from spark_explore.layouts import roomy
from spark_explore.storage import Storage

REMEMBER_SECONDS = 1.0
"""Seconds between two times at which progress is remembered, which adds up all workers' counts.

Spark repeats the work since the last time.
"""


@define
class HandoverWatch:
    """Watches a local search, and remembers its progress before some levels.

    `frontier_max`: pause before expanding a level of at least this size; None means never.
    """

    search: Search
    frontier_max: int | None
    paused: bool = field(init=False, default=False)
    _remembered: float = field(init=False, default=0.0)
    _generated: int = field(init=False, default=1)
    _counters: tuple[Ints, Ints] = field(init=False)
    _ends: list[int] = field(init=False, factory=list)
    _counts: list[list[int]] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        # A weak reference, because a cycle would keep all states after the end of the search.
        self._counters = np.zeros(0, np.int64), np.zeros(8, np.int64)
        self.search.pause = partial(HandoverWatch._look, proxy(self))

    @property
    def is_out_of_memory(self) -> bool:
        found = self.search.found
        return not found.violated and found.stopped_by.startswith("the memory limit")

    @property
    def counts_before(self) -> list[int]:
        """The number of values of each field two levels before the last, or at the first level."""
        return self._counts[0]

    def _look(self) -> bool:
        levels = self.search.found.levels
        self._counts = [*self._counts[-2:], self.search.tables.value_counts()]
        size = levels[-1] - levels[-2]
        self.paused = size > 0 and self.frontier_max is not None and size >= self.frontier_max
        is_first = len(levels) == 2  # also after the search has begun again
        if is_first or self.paused or time.monotonic() - self._remembered >= REMEMBER_SECONDS:
            self._remember()
        return self.paused

    def _remember(self) -> None:
        search = self.search
        search.count_up()
        self._generated, self._ends = search.found.generated, list(search.found.levels)
        self._counters = counters_of(search)
        self._remembered = time.monotonic()

    def settle(self) -> list[int]:
        """Go back to the progress that was remembered last; return where its levels end.

        Work since then, such as an unfinished level, is undone.
        """
        found = self.search.found
        if len(found.levels) != len(self._ends) or found.stopped_by:
            found.generated = self._generated
            put_counters_back(self.search, self._counters)
            found.levels = self._ends
        found.stopped_by = ""
        return found.levels


def take_over(
    search: Search, handover: HandoverWatch, storage: Storage, *, owners: int, host: str
) -> Frontier:
    """Return the frontier at which a local search stopped; its states are then only in files."""
    ends = handover.settle()
    found, tables = search.found, search.tables
    every, in_bits = search.rows(), tables.give_bits()
    frontier = Frontier(
        search=search, storage=storage, owners=owners, run=uuid.uuid4().hex, host=host
    )
    frontier.levels = [end - begin for begin, end in itertools.pairwise(ends)]
    frontier.counts = tables.value_counts()
    frontier.generated = found.generated
    frontier.outcomes = len(tables.outcomes)
    # A broken claim would have ended the search, and a claim that was reached needs no run.
    none = np.zeros(0, np.int64)
    frontier.verdicts.hits = [Hit(hit.claim, hit.level, none) for hit in found.hits]
    frontier.growth = [Growth(k, n, "local") for k, n in enumerate(frontier.levels)]
    frontier.verdicts.flags_any = int(np.bitwise_or.reduce(search.judge.flags))
    first = in_bits(np.array(every[: search.begins]))
    old = tables.grow_layout(roomy(tables, handover.counts_before))

    def rows_of(level: int) -> Any:
        return tables.repacked(in_bits(np.array(every[ends[level] : ends[level + 1]])), old)

    storage.make()
    frontier.take_over(rows_of)
    search.budget.lift()
    search.states = RowSet(old.words, search.budget, room=1)
    search.states.insert(first, len(first))
    search.expander.repack(old)
    search.expander.refresh()
    return frontier
