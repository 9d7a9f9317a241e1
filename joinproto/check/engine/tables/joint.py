"""Joint steps in the tables.  Each list of joint steps has a number; equal lists share it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from joinproto.check.engine.shapes import Ints
from joinproto.check.local import freeze_event

if TYPE_CHECKING:
    from joinproto.check.engine.tables.tables import Tables
    from joinproto.check.world import Together


class JointLists:
    """Numbered lists of joint steps.  Each has the number of its first step and its length."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._numbers: dict[Hashable, int] = {}
        self._first: list[int] = []
        self._count: list[int] = []

    def give(self, lists: Ints) -> None:
        """Assign the lists with these numbers to the next combinations of observations."""
        joint = self._tables.joint
        joint["first"].extend(np.array(self._first)[lists])
        joint["counts"].extend(np.array(self._count)[lists])

    def number(self, steps: list[Together]) -> int:
        """Return the number of a list of joint steps; equal lists get the same number."""
        events = [
            tuple((name, freeze_event(event)) for name, event in step.events.items())
            for step in steps
        ]
        key = tuple(
            (step.action, step.detail, step.fair, step.fault, taken)
            for step, taken in zip(steps, events, strict=True)
        )
        if key in self._numbers:
            return self._numbers[key]
        tables, joint = self._tables, self._tables.joint
        # Code that may raise comes first.  Otherwise steps could be numbered without their parts.
        parts = [self._parts_of(step, taken) for step, taken in zip(steps, events, strict=True)]
        self._first.append(joint["part_first"].count)
        self._count.append(len(steps))
        for step, columns in zip(steps, parts, strict=True):
            joint["part_first"].append(joint["part_member"].count)
            joint["part_count"].append(len(columns))
            for member, column in columns:
                joint["part_member"].append(member)
                joint["part_column"].append(column)
            tables.joint_steps.append(step)
        number = self._numbers[key] = len(self._numbers)
        return number

    def _parts_of(
        self, step: Together, taken: Sequence[tuple[str, Hashable]]
    ) -> list[tuple[int, int]]:
        """Return the parts of a joint step: (number of the member, number of its event) each."""
        tables = self._tables
        step.refuse_strangers(tables.names)
        members = [tables.number_of[name] for name, _ in taken]
        events = (event for _, event in taken)
        return [(at, tables.number_event(at, one)) for at, one in zip(members, events, strict=True)]
