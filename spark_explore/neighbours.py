"""The states near one state of a search on Spark, in which the driver finds the loop of a run."""

from __future__ import annotations

import numpy as np

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.liveness.graph import Graph
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Rows
from spark_explore.keys import padded
from spark_explore.worker_cache import set_of


class Neighbours(Graph):
    """Some states with all their steps, and one more state that stands for all other states.

    The additional state meets every claim and has no steps, so a run that breaks a claim never
    enters it.
    """

    def __init__(self, search: Search, states: RowSet, levels: list[int]) -> None:
        self.search, self._states, self._levels = search, states, levels
        self.begins = 1
        self.count = states.count + 1
        self._set_steps(search.steps_out_of([self.rows()]), states)
        self.numbers = search.judge.number(self.rows(), 0, states.count)

    @classmethod
    def of(
        cls, search: Search, row: Rows, claim: Claim, region: Rows | None, *, most: int
    ) -> Neighbours:
        """Return about `most` states that are nearest to `row`, by the steps out of it.

        Only states in `region` are taken.  If it is None, states that do not meet the claim are
        taken, or any states for `eventually always`.
        """
        words = search.tables.layout.words
        allowed = None if region is None else set_of(padded(region, words))
        found = set_of(padded(row.reshape(1, -1), words))
        begin, levels = 0, [0]
        while begin < found.count < most:
            end = found.count
            levels.append(end)
            fresh = np.array(found.rows[begin:end])
            for batch in search.steps_out_of([fresh]):
                rows = np.array(batch.rows)
                if allowed is not None:
                    rows = rows[allowed.find(rows, len(rows)) >= 0]
                elif claim.property.kind != "eventually always" and len(rows):
                    numbers = search.judge.number(rows, 0, len(rows))
                    rows = rows[~search.judge.have_bit(numbers, claim.bit)]
                found.insert(np.ascontiguousarray(rows), len(rows))
            begin = end
        return cls(search, found, [*levels, found.count + 1])

    def _number(self, found: Ints) -> Ints:
        return np.where(found < 0, self._states.count, found)

    @property
    def levels(self) -> list[int]:
        return self._levels

    def rows(self) -> Rows:
        return self._states.rows[: self._states.count]

    def _flag(self, bit: int) -> Flags:
        return np.append(super()._flag(bit), True)
