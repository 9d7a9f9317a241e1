"""The connections of states: the step that found each, and all steps if requested.

A state's `id` is its number in the search.  Its parent is the first state, one level before it,
that leads to it.  So a shortest run to a state is read backwards, parent by parent.  Where several
states were taken for one (`--symmetry`, a world's `same`) a step leads to another state than the
one that is kept, and there is no parent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field

from joinproto.check.engine.expansion.expander import Batch
from joinproto.check.engine.runs.paths import move_of
from joinproto.check.engine.search import Search
from joinproto.check.steps import said

Ints = npt.NDArray[np.int64]

NONE = -1


@define
class Parents:
    """Parents of the states of a finished search, filled in while its states are expanded.

    `parent`: int64, of each state, `NONE` for a first one; `info`: int64, the step from there.
    `edges`: takes each step that changes its state, as a table, where all are asked for.
    """

    search: Search
    edges: Callable[[Any], None] | None = None
    parent: Ints = field(init=False)
    info: Ints = field(init=False)
    _keys: npt.NDArray[np.uint64] | None = field(init=False, default=None)
    _order: Ints = field(init=False)
    _next: tuple[int, int] = field(init=False, default=(0, 0))
    _among: tuple[int, int] = field(init=False, default=(0, 0))

    def __attrs_post_init__(self) -> None:
        count = self.search.found.levels[-1]
        self.parent, self.info = np.full(count, NONE, np.int64), np.zeros(count, np.int64)
        if self.edges is not None:
            self._look_among(0, count)

    def look_for(self, begin: int, end: int) -> None:
        """Look for the parents of states begin to end from now on: they are one level."""
        self._next = begin, end
        if self.edges is None:
            self._look_among(begin, end)

    def _look_among(self, begin: int, end: int) -> None:
        states, self._among = self.search.states, (begin, end)
        if states.words == 1:
            # A set of one word is not numbered.
            keys = states.rows[begin:end, 0]
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]

    def note(self, sources: Ints, batch: Batch) -> None:
        """Take in steps; `sources`: the states that the batch numbers from 0 on."""
        if self._among[0] == self._among[1]:
            return
        begin, end = self._next
        found = self._find(batch.rows)
        if self.edges is not None:
            self.edges(self._edges_of(sources[batch.source], found, batch.info))
        new = (found >= begin) & (found < end)
        new[new] = self.parent[found[new]] == NONE
        # Backwards: of several, the first one stays.
        places = np.flatnonzero(new)[::-1]
        self.parent[found[places]] = sources[batch.source[places]]
        self.info[found[places]] = batch.info[places]

    def _find(self, rows: npt.NDArray[np.uint64]) -> Ints:
        states, (begin, end) = self.search.states, self._among
        if self._keys is None:
            return states.find(rows, len(rows))
        place = np.minimum(np.searchsorted(self._keys, rows[:, 0]), end - begin - 1)
        return np.where(self._keys[place] == rows[:, 0], begin + self._order[place], NONE)

    def _edges_of(self, source: Ints, target: Ints, info: Ints) -> Any:
        """Return the steps that lead to another state as a table: source, target, step."""
        kept = (target != NONE) & (target != source)
        source, target, info = source[kept], target[kept], info[kept]
        columns = [pa.array(source), pa.array(target), self._said(info, source)]
        return pa.table(columns, names=["source", "target", "step"])

    def _said(self, info: Ints, source: Ints) -> Any:
        """Return steps in words, each kind once."""
        _, first, of = np.unique(info, return_index=True, return_inverse=True)
        rows, search = self.search.rows(), self.search
        kinds = zip(info[first].tolist(), source[first].tolist(), strict=True)
        texts = [said(move_of(search, one, rows[state])) for one, state in kinds]
        return pa.DictionaryArray.from_arrays(
            pa.array(of, pa.int32()), pa.array(texts, pa.string())
        )

    def with_parents(self, table: Any, begin: int) -> Any:
        """Return the rows of states from `begin` on with the columns `id`, `parent`, `step`."""
        ids = np.arange(begin, begin + table.num_rows)
        parent, info = self.parent[ids], self.info[ids]
        known = parent != NONE
        return with_origin(table, ids, parent, self._said(info[known], parent[known]))


def with_origin(table: Any, ids: Ints, parent: Ints, step: Any) -> Any:
    """Return rows of states with the columns `id`, `parent`, `step`.

    `step`: a dictionary array of those that have a parent, in their order.
    """
    known = parent != NONE
    at = np.zeros(len(ids), np.int32)
    at[known] = np.arange(known.sum())
    columns = {
        "id": pa.array(ids),
        "parent": pa.array(parent, mask=~known),
        "step": step.take(pa.array(at, mask=~known)),
    }
    for name, values in columns.items():
        table = table.append_column(name, values)
    return table
