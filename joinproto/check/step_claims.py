"""Claims about steps: conditions on single steps, and refinement of one world by another.

A claim about a step sees the observations before and after it, and the step itself.  That a world
*implements* another is such a claim, too: a mapping says which state of the abstract world each
view stands for; then every step must be one of the abstract world's, or change nothing there, and
runs must begin where they may.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from joinproto.check.asking import truth
from joinproto.check.events import ValueText
from joinproto.check.freeze import freeze, thaw
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, StepView
from joinproto.check.reference import explore
from joinproto.check.view import View

ABSTRACT_MAX = 20_000
"""States of an abstract world: its steps are listed one by one."""


@frozen
class _Abstract:
    """The behaviour of an abstract world: its initial states, and pairs of states."""

    names: tuple[str, ...]
    begins: frozenset[Any]
    states: frozenset[Any]
    steps: frozenset[tuple[Any, Any]]

    @classmethod
    def of(cls, item: Property) -> _Abstract:
        found = explore(item.abstract, states_max=ABSTRACT_MAX, keep_edges=True)
        if found.stopped:
            raise ModelProblem(
                f"property {item.name!r}: the abstract world has more than {ABSTRACT_MAX:,} states",
                next="let it say less",
            )
        views = [found.reference.view(state) for state in found.level_of]
        names = tuple(views[0])
        keys = [_key(names, view) for view in views]
        if len(set(keys)) < len(keys):
            raise ModelProblem(
                f"property {item.name!r}: two states of the abstract world show the same",
                next="let its members show all that they are",
            )
        begins = frozenset(
            key for key, level in zip(keys, found.level_of.values(), strict=True) if level == 0
        )
        steps = frozenset((keys[source], keys[target]) for source, _, target in found.edges)
        return cls(names, begins, frozenset(keys), steps)


def _key(names: tuple[str, ...], shown: Any) -> tuple[Any, ...]:
    return tuple(freeze(shown[name]) for name in names)


class StepClaim:
    """One claim about steps, asked with views."""

    def __init__(self, item: Property) -> None:
        self.item = item
        self._abstract = None if item.abstract is None else _Abstract.of(item)

    def begins(self, view: View) -> bool:
        """Return whether a run may begin so."""
        return self._abstract is None or self.abstract_of(view) in self._abstract.begins

    def is_state(self, view: View) -> bool:
        """Return whether a view stands for a state of the abstract world, as it must."""
        return self._abstract is None or self.abstract_of(view) in self._abstract.states

    def abstract_of(self, view: View) -> Any:
        """Return the abstract world's state for which a view stands."""
        assert self._abstract is not None
        return self._mapped(self._abstract, view)

    def told(self, before: View | None, after: View) -> str:
        """Return a text of the step that the abstract world cannot take; nothing for a claim
        without one.
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
            return truth(f"property {self.item.name!r}", self.item.holds, answer)
        return self.allows(self.abstract_of(before), self.abstract_of(after))

    def _mapped(self, abstract: _Abstract, view: View) -> tuple[Any, ...]:
        mapped = self.item.holds(view)
        if not isinstance(mapped, Mapping) or set(mapped) != set(abstract.names):
            raise ModelProblem(
                f"property {self.item.name!r}: the mapping gives {mapped!r}",
                next="a dict with what each of "
                + ", ".join(abstract.names)
                + " shows in the abstract world",
            )
        return _key(abstract.names, mapped)
