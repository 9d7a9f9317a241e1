"""The shortest run to a state, rebuilt level by level without parent pointers.

Backwards, each level is expanded again and the rows that lead to the state are kept.  Forwards, the
first step to a kept row, by `order_of`, is taken.  So the run is a shortest one, and of several
shortest runs always the same: every search and every engine returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Ints, Rows
from joinproto.check.engine.tables import kernel
from joinproto.check.local import freeze_event
from joinproto.check.report import Step
from joinproto.check.steps import Kind, Move, order_of, states_of, to_step

FoundRun = tuple[dict[str, dict[str, str]], tuple[Step, ...], Rows]
"""A run: the members' initial states as text, the steps, and the row in which the run ends."""


def move_of(search: Search, info: int, row: Rows) -> Move:
    """Return the step that `info` names, taken from `row`."""
    tables = search.tables
    kind, a, o = kernel.parts_of(info)
    name: Kind
    if kind == kernel.MOVE:
        action, surroundings = tables.moves[a]
        name = "split" if action == "split" else "heal"
        return Move(name, split=surroundings.split)
    if kind == kernel.TOGETHER:
        step = tables.joint_steps[a]
        fields = tables.layout.fields(row)
        taken = []
        for name_, event in step.events.items():
            member = tables.number_of[name_]
            column = tables.number_event(member, freeze_event(event))
            first = tables.cells.get(member, fields[member], column)
            upto = first
            while not tables.out["last"].array[upto]:
                upto += 1
            crashed = o - 1
            taken.append((name_, tables.outcomes[crashed if first <= crashed <= upto else first]))
        return Move("together", tuple(taken), together=step)
    if kind in (kernel.LOSE, kernel.DOUBLE):
        name = "lose" if kind == kernel.LOSE else "duplicate"
        return Move(name, message=tables.queues.taken(a))
    member, _, column = tables.outcome_cell[o]
    event = tables.columns[member].values[column]
    taken_by = ((tables.names[member], tables.outcomes[o]),)
    if kind == kernel.CHOICE:
        return Move("choice", taken_by, event)
    is_of_set = kind == kernel.RECEIVE
    message = tables.messages.values[a] if is_of_set else tables.queues.taken(a)
    return Move("receive", taken_by, event, message)


def states_text(search: Search, row: Rows) -> dict[str, dict[str, str]]:
    tables = search.tables
    values = tables.values_of(row)
    monitor = values[tables.monitor] if tables.monitor >= 0 else None
    return states_of(tables.codes, values[: tables.members], monitor)


class Steps:
    """Finds successors of single rows outside the search, for paths and walks."""

    def __init__(self, search: Search) -> None:
        self.search = search

    def out_of(self, row: Rows) -> list[tuple[Move, Rows, Rows]]:
        """Return (step, row to which it leads, canonical form of that row) for each step."""
        search = self.search
        holder = [row.reshape(1, -1).copy()]

        def repack(old: Any) -> None:
            repacked = search.tables.repacked
            holder[0] = repacked(holder[0], old)
            found[:] = [(info, repacked(after.reshape(1, -1), old)[0]) for info, after in found]

        found: list[tuple[int, Rows]] = []
        search.expander.on_layout.append(repack)
        try:
            for batch in search.steps_out_of(holder):
                found += zip(batch.info.tolist(), batch.rows.copy(), strict=True)
        finally:
            search.expander.on_layout.remove(repack)
        options = []
        for info, after in found:
            standing = after.copy().reshape(1, -1)
            if search.renaming is not None:
                search.renaming.canonical(standing)
            options.append((move_of(search, info, holder[0][0]), after, standing[0]))
        return options


def path_to(search: Search, targets: Ints, level: int) -> FoundRun:
    """Return a shortest run to one of `targets`; of several, the first by `order_of`.

    `targets`: row numbers, all in `level` (the initial states have level 0).
    """
    # A search that ran out of memory may not have read the last answers.
    search.expander.refresh()
    counters = counters_of(search)
    try:
        towards = [_set_of(search, search.rows()[targets])]
        for k in range(level - 1, -1, -1):
            begin, end = search.found.levels[k], search.found.levels[k + 1]
            sources = [np.empty(0, np.int64)]
            for batch in search.successors(begin, end):
                known = towards[0].find(batch.rows, len(batch.rows))
                sources.append(np.unique(batch.source[known >= 0]))
            picked = np.unique(np.concatenate(sources))
            towards.insert(0, _set_of(search, search.rows()[picked]))
        return forward(search, towards)
    finally:
        put_counters_back(search, counters)


def forward(search: Search, towards: list[RowSet]) -> FoundRun:
    """Return the first run, by `order_of`, through `towards`, the kept rows of each level."""
    steps_of = Steps(search)
    begins = np.array(search.rows()[: search.begins])
    row = begins[np.flatnonzero(towards[0].find(begins, len(begins)) >= 0)[0]].copy()
    initial = states_text(search, row)
    steps: list[Step] = []
    for level in range(1, len(towards)):
        options: list[tuple[Any, int, Move, Rows]] = []
        for move, after, standing in steps_of.out_of(row):
            if towards[level].find(standing.reshape(1, -1), 1)[0] >= 0:
                options.append((order_of(move, search.tables.codes), len(options), move, after))
        _, _, move, row = min(options)
        steps.append(to_step(move, states_text(search, row)))
    return initial, tuple(steps), row


def _set_of(search: Search, rows: Rows) -> RowSet:
    found = RowSet(search.tables.layout.words, search.budget, numbered=True, room=len(rows))
    found.insert(np.ascontiguousarray(rows), len(rows))
    return found


def counters_of(search: Search) -> tuple[Ints, Ints]:
    """Return how often each step was taken, as the tables count it."""
    return search.tables.out["taken"].array.copy(), search.tables.event_taken.copy()


def put_counters_back(search: Search, saved: tuple[Ints, Ints]) -> None:
    """Set the counters to the values that `counters_of` returned."""
    taken, events = saved
    array = search.tables.out["taken"].array
    array[:] = 0
    array[: len(taken)] = taken
    search.tables.event_taken[:] = events


def uncounted(search: Search, call: Callable[[], Any]) -> Any:
    """Return the result of `call`, without counting the steps that it expands as covered."""
    search.count_up()
    saved = counters_of(search)
    try:
        return call()
    finally:
        search.count_up()
        put_counters_back(search, saved)
