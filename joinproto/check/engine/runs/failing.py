"""A step in which a member's code fails, reported with the shortest run that leads to it.

The level is completed as if there were no such step.  So if several steps fail, every search
reports the same one, whichever step was asked for first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from joinproto.check.engine.runs.paths import path_to, uncounted
from joinproto.check.engine.shapes import Ints, Row
from joinproto.check.engine.tables import kernel
from joinproto.check.problems import ModelProblem
from joinproto.check.steps import failed_run

if TYPE_CHECKING:
    from joinproto.check.engine.search import Search

Cell = tuple[int, int, int]


def raise_failing(search: Search, begin: int, end: int) -> None:
    """Raise the error of a failing step out of rows begin to end, the last expanded level.

    Returns if no such step fails: a search that began again keeps the errors that it met on later
    levels, and meets them again there.
    """
    failing = search.tables.failing
    assert failing is not None
    if search.found.stopped_by:
        # Not all rows were expanded, so the rows with failing steps are not known.
        raise min(failing.values(), key=ModelProblem.order)
    search.tables.failing = None
    uncounted(search, lambda: _raise_in(search, failing, begin, end))
    search.tables.failing = failing


def _raise_in(search: Search, failing: dict[Cell, ModelProblem], begin: int, end: int) -> None:
    rows = _rows_that_need(search, failing, begin, end)
    if len(rows) == 0:
        return
    initial, steps, row = path_to(search, rows, len(search.found.levels) - 2)
    # With symmetry, the run may end in a renamed state, so the steps out of that state are asked.
    again = _problems_of(search, failing, row)
    if not again:
        raise min(failing.values(), key=ModelProblem.order)
    problem, event = min(again, key=lambda one: one[0].order())
    problem.led_to = failed_run(problem.member, event, initial, steps)
    raise problem


def _rows_that_need(
    search: Search, failing: dict[Cell, ModelProblem], begin: int, end: int
) -> Ints:
    """Return the rows from begin to end that need one of the cells `failing`."""
    cells = search.tables.cells
    for cell in failing:
        cells.put(*cell, kernel.UNKNOWN)
    rows = search.lacking(begin, end)
    for cell in failing:
        cells.put(*cell, kernel.REFUSED)
    return rows


def _problems_of(
    search: Search, failing: dict[Cell, ModelProblem], row: Row
) -> list[tuple[ModelProblem, Hashable]]:
    """Return the errors in the steps out of `row`, each with its event."""
    tables, alone = search.tables, row.reshape(1, -1)
    for cell in failing:
        tables.cells.put(*cell, kernel.UNKNOWN)
    joint = None if search.world.together is None else search.judge.number(alone, 0, 1)
    search.expander.refresh()
    found = []
    for asked in search.expander.asked_by(alone, joint):
        try:
            tables.fill(asked.reshape(1, -1))
        except ModelProblem as problem:
            if not problem.member:
                raise
            _, field, _, column = asked.tolist()
            found.append((problem, tables.columns[field].values[column]))
    return found
