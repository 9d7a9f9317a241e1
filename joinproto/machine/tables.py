"""Decision tables: the cases are read from the top, and the first one that holds is taken.

The last case always holds, so a table always has an answer.  Fields that a case does not mention do
not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property
from typing import Generic, TypeVar

from attrs import field, frozen

from joinproto.errors import MisuseError
from joinproto.machine.compiled import reader
from joinproto.machine.terms import ALWAYS, Condition, Group
from joinproto.machine.vocabulary import Reason

SILENT = "silent"
"""The label of a case for which the source has no sentence; `docs/note.md` explains the case."""

O = TypeVar("O", bound=Enum)


@frozen
class Case(Generic[O]):
    """One line of a table.  `label`: the label of its rule.  `effects`: the actions to take.

    `updates_from`: if the outcome is an update, the members of which one sends its state.
    `reason`: why the member waits or aborts, None if it does neither.
    """

    label: str
    name: str
    condition: Condition
    outcome: O
    effects: tuple[Enum, ...] = ()
    updates_from: Group | None = field(default=None, kw_only=True)
    reason: Reason | None = field(default=None, kw_only=True)


@frozen
class Table(Generic[O]):
    """A decision table.  `source`: the text from which its cases are taken."""

    name: str
    source: str
    cases: tuple[Case[O], ...]

    def __attrs_post_init__(self) -> None:
        if not self.cases or self.cases[-1].condition != ALWAYS:
            raise MisuseError(
                f"table {self.name}: its last case does not always hold",
                next="end the table with a case whose condition is ALWAYS",
            )
        seen: set[str] = set()
        conditions: set[Condition] = set()
        for case in self.cases:
            if conditions & {ALWAYS, case.condition}:
                raise MisuseError(
                    f"table {self.name}: the case {case.name!r} is never reached",
                    next="an earlier case has the same condition, or always holds: move or drop it",
                )
            if case.name in seen:
                raise MisuseError(
                    f"table {self.name}: two cases are called {case.name!r}",
                    next="give each case its own name, because traces and coverage show the names",
                )
            seen.add(case.name)
            conditions.add(case.condition)

    def choose(self, members: Sequence[object], me: int) -> Case[O]:
        """Return the first case that holds for the member at place `me`, from 0, of `members`."""
        return self._read(members, me)

    @cached_property
    def _read(self) -> Callable[[Sequence[object], int], Case[O]]:
        return reader([(ALWAYS, [(case.condition, case) for case in self.cases])])
