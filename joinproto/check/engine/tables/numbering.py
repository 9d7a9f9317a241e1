"""The numbering of a search as plain data, with which a later search continues.

The later search must be of the same world and the same code.  The caller that stores the numbering
checks this.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.grids import Grids
from joinproto.check.local import Outcome

if TYPE_CHECKING:
    from joinproto.check.engine.tables.tables import Tables

_FROM_WORLD = ["world", "codes", "environment", "expiry", "_shape"]
_OF_ONE_SEARCH = ["code_comparison", "failing", "_budget"]
_BY_COMBINATION = ["joint", "joint_steps", "joint_lists"]
"""Attributes of combinations, which the judge numbers again in each search."""

_NOT_KEPT = frozenset([*_FROM_WORLD, *_OF_ONE_SEARCH, *_BY_COMBINATION])


class TablesNumbering:
    """Reads and replaces the numbering of one `Tables`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def content(self) -> dict[str, Any]:
        """Return the tables' attributes that do not come from the world, and the horizons."""
        tables = self._tables
        kept = {name: value for name, value in vars(tables).items() if name not in _NOT_KEPT}
        return {"tables": kept, "horizons": tables.expiry.horizons}

    def take(self, content: dict[str, Any]) -> None:
        """Use the numbering of `content`.  Readers of the tables must read them again.

        Afterwards the tables have no memory limit (call `Arrays.bound_by`), and hold the earlier
        search's counts of steps (call `Arrays.forget_taken` to reset them).
        """
        tables, expiry = self._tables, self._tables.expiry
        vars(tables).update(content["tables"])
        tables.queues.attach(tables)
        if tables.contents is not None:
            tables.contents.attach(tables)
        if tables.is_set_network:
            for sender, to, message in tables.messages.values[expiry.known :]:
                expiry.add(sender, to, message)
        expiry.horizons = content["horizons"]

    def samples(self, content: dict[str, Any], most: int) -> Iterator[bool]:
        """Yield, for some steps and states of `content`, whether the code still answers the same.

        `most`: the number of samples of each kind, for each member.  Verdicts of claims are
        sampled, too.
        """
        tables, found = self._tables, _StoredNumbering(content["tables"])
        for field, code in enumerate(tables.codes.members):
            states, events = found.values_of(field)
            for local, column, first in found.cells.some(field, most):
                step = code.answer("step", (states[local], events[column])) or ()
                yield tuple(step) == found.outcomes_from(first)
            for local in random.sample(range(len(states)), min(most, len(states))):
                state = states[local]
                choices = [(choice.event, choice.fair) for choice in code.answer("choices", state)]
                yield choices == found.choices(field, local)
                shows = code.shows(state), code.shows_disk(state)
                yield shows == found.shown(field, local)
                yield code.horizon(state) == found.per_value("horizon", field, local)
        if tables.codes.monitor is not None:
            states, events = found.values_of(tables.monitor)
            for local, column, first in found.cells.some(tables.monitor, most):
                after = tables.codes.after_events(states[local], events[column])
                yield (Outcome(after),) == found.outcomes_from(first)
        kept = content["tables"]
        yield from kept["claimed"].samples(tables.world, tables.names, kept["shown"], most)


class _StoredNumbering:
    """The numbered values of a stored numbering."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self._kept = kept
        self.cells: Grids = kept["cells"]
        self._last = kept["out"]["last"].array
        self._choices = kept["choice_column"].array

    def values_of(self, field: int) -> tuple[list[Any], list[Any]]:
        """Return the states and the events of a member."""
        return self._kept["values"][field].values, self._kept["columns"][field].values

    def per_value(self, name: str, field: int, local: int) -> int:
        per_value = self._kept["per_value"]
        return int(per_value.arrays[name][int(per_value.off[field]) + local])

    def outcomes_from(self, first: int) -> tuple[Outcome, ...]:
        if first == kernel.REFUSED:
            return ()
        end = first
        while not self._last[end]:
            end += 1
        return tuple(self._kept["outcomes"][first : end + 1])

    def choices(self, field: int, local: int) -> list[tuple[Any, bool]]:
        _, events = self.values_of(field)
        first = self.per_value("choice_first", field, local)
        numbers = range(first, first + self.per_value("choice_count", field, local))
        fair = self._kept["choice_fair"]
        return [(events[self._choices[at]], fair[at]) for at in numbers]

    def shown(self, field: int, local: int) -> Any:
        return self._kept["shown"][field].values[self.per_value("shown", field, local)]
