"""Table updates: the entries of the driver's tables that a replica of them lacks.

The tables only grow.  So a replica sends its position, and gets the entries that were added after
it; an empty position gets everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_type_hints

import numpy as np
from attrs import frozen

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Column, Ints, Keys
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.arrays import Arrays
from joinproto.check.engine.tables.grids import Grids
from joinproto.check.engine.tables.growing import Growing

Parts = dict[str, Column]
"""An update, a question or an answer: arrays by name."""


def _growing(arrays: Arrays) -> Iterable[Growing]:
    yield from (arrays.choice_column, arrays.send_queue, arrays.send_message, arrays.take_message)
    for group in (arrays.out, arrays.to, arrays.heard_as, arrays.joint):
        # Each process counts by itself how often outcomes were taken.
        yield from (array for name, array in group.items() if name != "taken")


def _grids(arrays: Arrays) -> dict[str, Grids]:
    """Return the tables of cells by their names in updates."""
    return {"cells": arrays.cells, "adds": arrays.adds_table, "rests": arrays.rests}


@frozen
class UpdateLog:
    """The filled cells of each table, in the order of filling: (field, value, column, content)."""

    filled: dict[str, list[tuple[int, int, int, int]]]

    @classmethod
    def of(cls, arrays: Arrays) -> UpdateLog:
        """Return a log with all cells that are filled now."""
        return cls(
            {
                name: [c for c in grid.filled() if c[3] >= 0 or c[3] == kernel.REFUSED]
                for name, grid in _grids(arrays).items()
            }
        )

    def add(self, arrays: Arrays, asked: Ints) -> None:
        for kind, x, y, z in asked.tolist():
            grid = arrays.grid_of(kind)
            name = next(name for name, one in _grids(arrays).items() if one is grid)
            self.filled[name].append((x, y, z, grid.get(x, y, z)))


def updates_after(
    arrays: Arrays,
    log: UpdateLog,
    shown: Sequence[int],
    broken: Sequence[Sequence[int]],
    position: Ints,
) -> Parts:
    """Return the updates after `position`; an empty position means everything.

    `shown`: the number of observations of each part.  `broken`: the observations that break a
    claim.
    """
    whole = len(position) == 0
    at = iter(np.zeros(1 << 12, np.int64).tolist() if whole else position.tolist())
    parts: Parts = {}
    values = arrays.value_counts()
    blocks: dict[str, list[Column]] = {name: [] for name in arrays.per_value.arrays}
    for field, count in enumerate(values):
        begin, off = next(at), int(arrays.per_value.off[field])
        for name, array in arrays.per_value.arrays.items():
            blocks[name].append(array[off + begin : off + count])
    for name, pieces in blocks.items():
        parts[f"value_{name}"] = np.concatenate(pieces)
    for number, growing in enumerate(_growing(arrays)):
        parts[f"growing_{number}"] = growing.array[next(at) : growing.count]
    messages = arrays.outcome_messages[next(at) :]
    parts["message_counts"] = np.array([len(item) for item in messages], np.int32)
    parts["messages"] = np.array([m for item in messages for m in item], np.int32)
    for name, rows in {**log.filled, "broken": broken}.items():
        parts[name] = np.array(rows[next(at) :], np.int64).reshape(-1, 4)
    parts["values"] = np.array(values, np.int64)
    parts["columns"] = np.array(arrays.column_counts(), np.int64)
    parts["shown"] = np.array(shown, np.int64)
    layout = arrays.layout
    parts["layout"] = np.array([layout.words, layout.slots, *layout.widths], np.int64)
    needed, horizons = arrays.needed_messages()
    parts["needed"] = needed
    parts["sizes"] = np.array([arrays.message_count(), horizons], np.int64)
    if whole:
        parts["shape"] = np.array(
            [int(item) for item in arrays.shape()] + [int(arrays.is_set_network)], np.int64
        )
        parts |= arrays.environment_tables._asdict()
    return {name: np.ascontiguousarray(part) for name, part in parts.items()}


class Replica(Arrays):
    """A copy of the driver's arrays, without the values that the numbers stand for.

    `shown`: the number of observations of each part.  `broken`: the observations that break a
    claim.
    """

    def __init__(self, parts: Parts) -> None:
        *shape, is_set_network = parts["shape"].tolist()
        # The same types as in the driver, because loops are compiled for each set of types.
        kinds = get_type_hints(kernel.Shape).values()
        fixed = [kind(item) for item, kind in zip(shape, kinds, strict=True)]
        super().__init__(kernel.Shape(*fixed), is_set_network=bool(is_set_network))
        self.environment_tables = kernel.EnvironmentTables(
            *(parts[name] for name in kernel.EnvironmentTables._fields)
        )
        self._values = [0] * self.fields
        self._columns = [0] * self.fields
        self._counts = dict.fromkeys((*_grids(self), "broken"), 0)
        self.shown: list[int] = []
        self.broken: list[tuple[int, ...]] = []
        self.take_in(parts)
        self.grow_layout()

    def position(self) -> Ints:
        """Return the position of this replica: how many items of each array it has."""
        return np.array(
            [
                *self._values,
                *(growing.count for growing in _growing(self)),
                len(self.outcome_messages),
                *self._counts.values(),
            ],
            np.int64,
        )

    def take_in(self, parts: Parts) -> None:
        """Add the updates after `position()`."""
        values = parts["values"].tolist()
        begins, done = self._values, 0
        for field, count in enumerate(values):
            more = count - begins[field]
            self.per_value.make_room(field, count)
            place = int(self.per_value.off[field]) + begins[field]
            for name, array in self.per_value.arrays.items():
                array[place : place + more] = parts[f"value_{name}"][done : done + more]
            done += more
        self._values, self._columns = values, parts["columns"].tolist()
        for number, growing in enumerate(_growing(self)):
            growing.extend(parts[f"growing_{number}"])
        taken, outcomes = self.out["taken"], self.out["next"].count
        taken.extend(np.zeros(outcomes - taken.count, np.int64))
        flat, at = parts["messages"].tolist(), 0
        for count in parts["message_counts"].tolist():
            self.outcome_messages.append(tuple(flat[at : at + count]))
            at += count
        self._messages, self._horizons = parts["sizes"].tolist()
        for field in range(self.fields):
            self.cells.make_room(field, max(1, values[field]), max(1, self._columns[field]))
        for queue in range(self.queue_count):
            count = max(1, values[self.queue_field + queue])
            self.adds_table.make_room(queue, count, max(1, self._messages))
            at = int(self.per_value.off[self.queue_field + queue])
            takes = self.per_value.arrays["take_count"][at : at + count]
            self.rests.make_room(queue, count, max(1, int(takes.max())))
        for name, grid in _grids(self).items():
            grid.put_all(parts[name])
        self.broken += [tuple(row) for row in parts["broken"].tolist()]
        for name in self._counts:
            self._counts[name] += len(parts[name])
        self._needed = parts["needed"]
        self.shown = parts["shown"].tolist()
        self._driver_layout = parts["layout"].tolist()

    def value_counts(self) -> list[int]:
        return self._values

    def column_counts(self) -> list[int]:
        return self._columns

    def message_count(self) -> int:
        return self._messages

    def needed_messages(self) -> tuple[Keys, int]:
        return self._needed, self._horizons

    def outgrown(self) -> bool:
        """Return whether the driver now uses another layout."""
        layout = self.layout
        return [layout.words, layout.slots, *layout.widths] != self._driver_layout

    def grow_layout(self, layout: Layout | None = None) -> Layout:
        words, slots, *widths = self._driver_layout
        return super().grow_layout(layout or Layout(widths, slots, words))
