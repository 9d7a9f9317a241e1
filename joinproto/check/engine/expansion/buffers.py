"""The input and output of the loop over rows, besides the tables, as named tuples of arrays.

One worker has one of each.  Shapes are written (row, word): by row first.  numba compiles loops for
these types, so this file counts as one with loops (`joinproto/check/folders.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
U64 = npt.NDArray[np.uint64]


class SourceRows(NamedTuple):
    """The rows that are expanded.

    `picked`, `joint` and `marks` may be empty: then all rows are meant, the world has no joint
    steps, and no step sleeps.
    """

    rows: U64  # (row, word): all rows of the search
    picked: I64  # (place,): row numbers
    base: int  # where `joint` and `marks` begin
    joint: I64  # (row - base,): the combination that is shown
    marks: U16  # (row - base,): see `sleeping.py`


class Written(NamedTuple):
    """Successors, in the order in which they are found; all have room for as many."""

    rows: U64  # (successor, word)
    info: I64  # (successor,): by which step, see `tables/kernel.py`
    source: I64  # (successor,): out of which row
    via: U16  # (successor,): its mark, where rows have marks


class MissingAnswers(NamedTuple):
    """The cells that the tables do not know yet."""

    ask: I64  # (question, 4): kind, x, y, z
    redo: I64  # (row,): rows to be done again


class Listed(NamedTuple):
    """Scratch space for one row's steps, until all answers are known."""

    todo: I64  # (step, 5): outcome or env, member, info, field or item, content
    looped: I64  # (step,): outcomes of steps that change nothing
    here: I64  # (member,): local states of the row
    heard: I64  # (link,): slots of `DeliveryTables`, see `deliveries.py`
    coming: I64  # (member,): local states of the next row
    idle: I64  # (member,): first choices of sleeping prefixes, see `own_steps.py`

    @classmethod
    def of(cls, todo: I64, looped: I64, scratch: I64) -> Listed:
        """`scratch`: (4, links and one to spare)."""
        return cls(todo, looped, scratch[0], scratch[1], scratch[2], scratch[3])
