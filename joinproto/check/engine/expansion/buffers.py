"""The input and output of the loop over rows, as named tuples of arrays; each worker has its own.

numba compiles loops for these types, so this file counts as one with loops
(`joinproto/check/folders.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joinproto.check.engine.rows.threads import LINE
from joinproto.check.engine.shapes import Ints, Questions, RowMarks, Rows, Table
from joinproto.check.engine.tables.kernel import Lookup, Shape


class SourceRows(NamedTuple):
    """The rows that are expanded.

    If `picked` is empty, all rows are expanded; if `joint` is empty, the world has no joint steps;
    if `marks` is empty, no step sleeps.
    """

    rows: Rows  # all rows of the search
    picked: Ints  # (place,): row numbers
    base: int  # where `joint` and `marks` begin
    joint: Ints  # (row - base,): the combination of observations that the row shows
    marks: RowMarks  # (row - base,): see `sleeping.py`


class Successors(NamedTuple):
    """Successors, in the order in which they are found; all arrays have the same length."""

    rows: Rows  # (successor, word)
    info: Ints  # (successor,): by which step, see `tables/kernel.py`
    source: Ints  # (successor,): out of which row
    via: RowMarks  # (successor,): its mark, if rows have marks


class MissingAnswers(NamedTuple):
    """The cells that the tables do not know yet."""

    ask: Questions
    redo: Ints  # (row,): rows to be done again


class StepScratch(NamedTuple):
    """Scratch space for one row's steps, until all answers are known."""

    todo: Table  # (step, 5): outcome or env, member, info, field or item, content
    looped: Ints  # (step,): outcomes of steps that change nothing
    here: Ints  # (member,): local states of the row
    heard: Ints  # (link,): slots of `DeliveryTables`, see `deliveries.py`
    coming: Ints  # (member,): local states of the next row
    idle: Ints  # (member,): first choices of sleeping prefixes, see `own_steps.py`

    @classmethod
    def of(cls, todo: int, looped: int, members: int) -> StepScratch:
        """Return arrays for `todo` steps and for `looped` steps that change nothing."""
        # A cache line is left over, so that no two workers write to the same line.
        scratch = np.zeros((4, (members + 1) ** 2 + LINE), np.int64)
        return cls(np.zeros((todo, 5), np.int64), np.zeros(looped, np.int64), *scratch)


class Loop(NamedTuple):
    """All that the loop over rows reads and writes, except for tables that a world may lack."""

    t: Lookup
    s: Shape
    given: SourceRows
    written: Successors
    lacking: MissingAnswers
    listed: StepScratch
    deliveries: Any  # `DeliveryTables`; None where contents are not numbered
    quiet: bool  # steps that lead back to the row itself are counted and not written
