"""The steps about one state of a search on Spark, few enough for the driver: for a run's circle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.expansion.expander import Batch
from joinproto.check.engine.liveness.graph import Graph
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from spark_explore.keys import Ints, Rows, padded
from spark_explore.worker_cache import set_of

Flags = npt.NDArray[np.bool_]


class Neighbours(Graph):
    """Some states with all their steps, and one state more that stands for any other.

    That one meets every claim and has no steps: a run that breaks one never goes there.
    """

    def __init__(self, search: Search, states: RowSet, levels: list[int]) -> None:
        self.search, self._states, self._levels = search, states, levels
        self.begins = 1
        self.count = states.count + 1
        sources, targets, infos = [], [], []
        for batch in successors(search, self.rows()):
            found = states.find(batch.rows, len(batch.rows))
            sources.append(batch.source.copy())
            targets.append(np.where(found < 0, states.count, found))
            infos.append(batch.info.copy())
        nothing = [np.empty(0, np.int64)]
        self._ordered(*(np.concatenate(one or nothing) for one in (sources, targets, infos)))
        self.numbers = search.judge.number(self.rows(), 0, states.count)

    @classmethod
    def of(
        cls, search: Search, row: Rows, claim: Claim, region: Rows | None, *, most: int
    ) -> Neighbours:
        """Return the nearest `most` states that `row` leads to.

        Within `region`; without one, through states that do not meet the claim.
        """
        words = search.tables.layout.words
        allowed = None if region is None else set_of(padded(region, words))
        found = set_of(padded(row.reshape(1, -1), words))
        begin, levels = 0, [0]
        while begin < found.count < most:
            end = found.count
            levels.append(end)
            fresh = np.array(found.rows[begin:end])
            for batch in successors(search, fresh):
                rows = np.array(batch.rows)
                if allowed is not None:
                    rows = rows[allowed.find(rows, len(rows)) >= 0]
                elif claim.property.kind != "eventually always" and len(rows):
                    flags = search.judge.flags[search.judge.number(rows, 0, len(rows))]
                    rows = rows[(flags >> np.uint64(claim.bit)) & np.uint64(1) == 0]
                found.insert(np.ascontiguousarray(rows), len(rows))
            begin = end
        return cls(search, found, [*levels, found.count + 1])

    @property
    def levels(self) -> list[int]:
        return self._levels

    def rows(self) -> Rows:
        return self._states.rows[: self._states.count]

    def _flag(self, bit: int) -> Flags:
        return np.append(super()._flag(bit), True)


def successors(search: Search, rows: Rows) -> Iterator[Batch]:
    """Return the steps out of rows."""
    joint: Ints | None = None
    if search.world.together is not None:
        joint = search.judge.number(rows, 0, len(rows))
    search.expander.refresh()
    return search.expander.successors(lambda: rows, 0, len(rows), joint)
