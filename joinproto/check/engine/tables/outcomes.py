"""The outcomes of steps, by number: as they were answered, or built again from stored numbers.

A search that continues with another search's numbers needs few of its outcomes, but all outcomes
together are most of the cache.  So they are stored as numbers, and each is built on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from attrs import frozen

from joinproto.check.engine.shapes import Flags, Ints
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.engine.tables.kernel import DOUBLE, LOSE, MOVE, TAKE, TOGETHER, parts_of
from joinproto.check.engine.tables.numbers import Numbers
from joinproto.check.local import Cost, Outcome

if TYPE_CHECKING:
    from joinproto.check.engine.tables.tables import Tables

COSTS: dict[Cost, int] = {"": 0, "crash": 1, "wipe": 2}
"""The number of each cost in the compiled loops."""

_COSTS = tuple(COSTS)


class Outcomes:
    """The outcomes of all steps, each under its number.

    `values`: the values of each field; `out`: the columns for the loops; `cells`: (member, local
    state, column) of each outcome.  The tables own these three and extend them.  `rules`: int32
    (outcome,), the number in `rule_sets` of the cases that an outcome took.  `effects`: int32
    (outcome,), how many effects were performed before a crash, or -1.
    """

    def __init__(
        self,
        values: Sequence[Numbers],
        out: Mapping[str, Growing],
        cells: Sequence[tuple[int, int, int]],
    ) -> None:
        self._values, self._out, self._cells = values, out, cells
        self._made: list[Outcome | None] = []
        self.rule_sets, self.rules = Numbers(), Growing(np.int32)
        self.effects = Growing(np.int32)
        # The messages and records of each stored outcome, by number.
        self._sent, self._recorded = Numbers(), Numbers()
        self._kept = np.empty((2, 0), np.int32)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, number: int) -> Outcome: ...
    @overload
    def __getitem__(self, number: slice) -> list[Outcome]: ...
    def __getitem__(self, number: int | slice) -> Outcome | list[Outcome]:
        if isinstance(number, slice):
            return [self[o] for o in range(*number.indices(len(self)))]
        made = self._made[number]
        if made is None:
            at = range(len(self))[number]
            made = self._made[at] = self._make(at)
        return made

    def __iter__(self) -> Iterator[Outcome]:
        return (self[o] for o in range(len(self)))

    def append(self, outcome: Outcome) -> None:
        """Add an outcome, under the next number."""
        self._made.append(outcome)
        self.rules.append(self.rule_sets.add(outcome.rules)[0])
        self.effects.append(-1 if outcome.effects is None else outcome.effects)

    @property
    def are_faults(self) -> Flags:
        """For each outcome, whether it spends a fault or is cut short by a crash."""
        count = len(self)
        found: Flags = self._out["cost"].array[:count] != 0
        return found | (self.effects.array[:count] >= 0)

    def _make(self, o: int) -> Outcome:
        effects = int(self.effects.array[o])
        sent, recorded = self._kept[:, o].tolist()
        return Outcome(
            self._values[self._cells[o][0]].values[int(self._out["next"].array[o])],
            self._sent.values[sent],
            self._recorded.values[recorded],
            _COSTS[int(self._out["cost"].array[o])],
            None if effects < 0 else effects,
            self.rule_sets.values[int(self.rules.array[o])],
        )

    def __getstate__(self) -> dict[str, Any]:
        old = self._kept.shape[1]
        new = [made for made in self._made[old:] if made is not None]
        columns = [
            [numbers.add(part)[0] for part in parts]
            for numbers, parts in (
                (self._sent, [outcome.sent for outcome in new]),
                (self._recorded, [outcome.recorded for outcome in new]),
            )
        ]
        kept = np.concatenate([self._kept, np.array(columns, np.int32).reshape(2, -1)], axis=1)
        return {**vars(self), "_kept": kept, "_made": len(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._made = [None] * state["_made"]


@frozen
class FaultSteps:
    """The steps that are faults: by outcome, by move of the world, by joint step."""

    outcome: Flags
    move: Flags
    joint: Flags

    @classmethod
    def of(cls, tables: Tables) -> FaultSteps:
        moves = [action != "heal" for action, _ in tables.moves]
        joint = [step.fault for step in tables.joint_steps]
        outcomes = tables.outcomes.are_faults if len(tables.outcomes) else np.zeros(1, np.bool_)
        return cls(outcomes, *(np.array(items or [False]) for items in (moves, joint)))

    def of_steps(self, info: Ints) -> Flags:
        """Return, for each step, whether it is a fault, as `joinproto.check.steps.Move.is_fault`.

        `info`: int64 (step,), see `parts_of`.
        """
        kind, a, o = parts_of(info)
        fault: Flags = (kind == LOSE) | (kind == DOUBLE)
        own, moved, together = kind <= TAKE, kind == MOVE, kind == TOGETHER
        fault[own] = self.outcome[o[own]]
        fault[moved] = self.move[a[moved]]
        # A joint step in which a member crashes is a fault as well.
        fault[together] = self.joint[a[together]] | (o[together] > 0)
        return fault
