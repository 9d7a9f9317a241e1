"""How each state was found: the state before it on a shortest run, and the step from there.

A state's `id` is its number in the search.  Its parent is the first state, one level before it,
that leads to it.  So a shortest run to a state is read backwards, parent by parent.  Where several
states were taken for one (`--symmetry`, a world's `same`) a step leads to another state than the
one that is kept, and there is no parent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field

from joinproto.check.engine.expander import Batch
from joinproto.check.engine.paths import move_of
from joinproto.check.engine.search import Search
from joinproto.check.steps import Move, text_of, words

Ints = npt.NDArray[np.int64]

NONE = -1


def said(move: Move) -> str:
    """Return a step in one line: `a: receive prepare 1.register`."""
    action, detail = words(move)
    names = " ".join(name for name, _ in move.outcomes)
    message = text_of(move.message).content if move.message else ""
    return (f"{names}: " if names else "") + " ".join(filter(None, (action, message, detail)))


@define
class Parents:
    """Parents of the states of a finished search, filled in while its states are expanded.

    `parent`: int64, of each state, `NONE` for a first one; `info`: int64, the step from there.
    """

    search: Search
    parent: Ints = field(init=False)
    info: Ints = field(init=False)
    _keys: npt.NDArray[np.uint64] | None = field(init=False, default=None)
    _order: Ints = field(init=False)
    _next: tuple[int, int] = field(init=False, default=(0, 0))

    def __attrs_post_init__(self) -> None:
        count = self.search.found.levels[-1]
        self.parent, self.info = np.full(count, NONE, np.int64), np.zeros(count, np.int64)

    def look_for(self, begin: int, end: int) -> None:
        """Look for the parents of states begin to end from now on: they are one level."""
        states, self._next = self.search.states, (begin, end)
        if states.words == 1:
            # A set of one word is not numbered.
            keys = states.rows[begin:end, 0]
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]

    def note(self, sources: Ints, batch: Batch) -> None:
        """Take in steps; `sources`: the states that the batch numbers from 0 on."""
        begin, end = self._next
        if begin == end:
            return
        found = self._find(batch.rows)
        new = (found >= begin) & (found < end)
        new[new] = self.parent[found[new]] == NONE
        # Backwards: of several, the first one stays.
        places = np.flatnonzero(new)[::-1]
        self.parent[found[places]] = sources[batch.source[places]]
        self.info[found[places]] = batch.info[places]

    def _find(self, rows: npt.NDArray[np.uint64]) -> Ints:
        states, (begin, end) = self.search.states, self._next
        if self._keys is None:
            return states.find(rows, len(rows))
        place = np.minimum(np.searchsorted(self._keys, rows[:, 0]), end - begin - 1)
        return np.where(self._keys[place] == rows[:, 0], begin + self._order[place], NONE)

    def with_parents(self, table: Any, begin: int) -> Any:
        """Return the rows of states from `begin` on with the columns `id`, `parent`, `step`."""
        end = begin + table.num_rows
        parent, info = self.parent[begin:end], self.info[begin:end]
        known = parent != NONE
        _, first, of = np.unique(info[known], return_index=True, return_inverse=True)
        texts = [self._text(begin + at) for at in np.flatnonzero(known)[first].tolist()]
        which = np.zeros(len(info), np.int32)
        which[known] = of
        step = pa.DictionaryArray.from_arrays(
            pa.array(which, mask=~known), pa.array(texts, pa.string())
        )
        columns = {
            "id": pa.array(np.arange(begin, end)),
            "parent": pa.array(parent, mask=~known),
            "step": step,
        }
        for name, values in columns.items():
            table = table.append_column(name, values)
        return table

    def _text(self, state: int) -> str:
        """Return the step that leads to a state, from its parent."""
        row = self.search.rows()[int(self.parent[state])]
        return said(move_of(self.search, int(self.info[state]), row))
