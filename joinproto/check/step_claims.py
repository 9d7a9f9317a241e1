"""Claims about steps: conditions on single steps, and refinement of one world by another.

A claim about a step sees the observations before and after it, and the step itself.  That a world
*implements* an abstract world is such a claim, too.  A mapping gives the state of the abstract
world for each view.  Then every step must be a step of the abstract world or change nothing there,
and each run must begin in one of its initial states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from joinproto.check.asking import bool_answer
from joinproto.check.events import ValueText
from joinproto.check.freeze import freeze, thaw
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, StepView
from joinproto.check.view import View

ABSTRACT_MAX = 20_000
"""The largest number of states of an abstract world: its steps are listed one by one."""


@frozen
class _AbstractWorld:
    """The behaviour of an abstract world: its initial states, states, and pairs of states."""

    names: tuple[str, ...]
    begins: frozenset[Any]
    states: frozenset[Any]
    steps: frozenset[tuple[Any, Any]]

    @classmethod
    def of(cls, item: Property) -> _AbstractWorld:
        from joinproto.check.plain import search_plainly  # here, because it imports this module

        found = search_plainly(item.abstract, (), states_max=ABSTRACT_MAX)
        if found is None:
            raise ModelProblem(
                f"property {item.name!r}: the abstract world has more than {ABSTRACT_MAX:,} states",
                next="make the abstract world smaller",
            )
        names = found.steps.codes.names
        keys = {state: _key(names, found.steps.view(state)) for state in found.states()}
        if len({*keys.values()}) < len(keys):
            raise ModelProblem(
                f"property {item.name!r}: two states of the abstract world have the same view",
                next="let its members show all their attributes",
            )
        begins = frozenset(keys[state] for state in found.levels[0])
        steps = frozenset(
            (keys[state], keys[after]) for state, out in found.out_of.items() for _, after in out
        )
        return cls(names, begins, frozenset(keys.values()), steps)


def _key(names: tuple[str, ...], shown: Any) -> tuple[Any, ...]:
    return tuple(freeze(shown[name]) for name in names)


class StepClaim:
    """One claim about steps, evaluated on views."""

    def __init__(self, item: Property) -> None:
        self.item = item
        self._abstract = None if item.abstract is None else _AbstractWorld.of(item)

    def begins(self, view: View) -> bool:
        """Return whether a run may begin in a state with this view."""
        return self._abstract is None or self.abstract_of(view) in self._abstract.begins

    def is_state(self, view: View) -> bool:
        """Return whether a view maps to a state of the abstract world, as it must."""
        return self._abstract is None or self.abstract_of(view) in self._abstract.states

    def abstract_of(self, view: View) -> Any:
        """Return the state of the abstract world that a view maps to."""
        assert self._abstract is not None
        mapped, names = self.item.holds(view), self._abstract.names
        if not isinstance(mapped, Mapping) or set(mapped) != set(names):
            raise ModelProblem(
                f"property {self.item.name!r}: the mapping gives {mapped!r}",
                next="return a dict with an observation of each member of the abstract world,"
                f" {', '.join(names)}",
            )
        return _key(names, mapped)

    def note(self, before: View | None, after: View) -> str:
        """Return a text about a step that the abstract world cannot take; "" if the claim has no
        abstract world.  `before`: None for an initial state.
        """
        if self._abstract is None:
            return ""

        def said(view: View) -> str:
            held = zip(self._abstract.names, self.abstract_of(view), strict=True)  # type: ignore[union-attr]
            return ", ".join(f"{name}: {ValueText.of(thaw(value))}" for name, value in held)

        if before is None:
            return f"{self.item.name}: {self.item.abstract.name} does not begin with {said(after)}"
        return (
            f"{self.item.name}: {self.item.abstract.name} has no step from {said(before)}"
            f" to {said(after)}"
        )

    def allows(self, one: Any, other: Any) -> bool:
        """Return whether the abstract world can go from one state to the other, or pause."""
        assert self._abstract is not None
        return one == other or (one, other) in self._abstract.steps

    def holds(self, before: View, taken: StepView, after: View) -> bool:
        """Return the claim's answer for one step."""
        if self._abstract is None:
            answer = self.item.holds(before, taken, after)
            return bool_answer(f"property {self.item.name!r}", self.item.holds, answer)
        return self.allows(self.abstract_of(before), self.abstract_of(after))
