"""A refinement mapping: gives a state of a searched world in the relations of a layer.

`rows` gives the present facts of a state.  Some relations only grow, such as the sent messages:
they are history variables, to which `picture` adds the rows of earlier states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from joinproto.check.reference import Reference, State
from joinproto.prove.layer import Layer
from joinproto.prove.logic import Function, Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure

Picture: TypeAlias = tuple[Rows, ...]
"""The rows of the layer's changing relations, in the layer's order."""

Universe: TypeAlias = tuple[
    Mapping[Sort, tuple[Element, ...]],
    Mapping[Relation, Rows],
    Mapping[Function, Mapping[Element, Element]],
]
"""The elements of pictures by sort, the rows of rigid relations, and the functions' values."""


@frozen
class RefinementMapping(ABC):
    """A mapping to a layer.  `reference`: the world."""

    reference: Reference

    layer: Layer
    history: frozenset[Relation]
    """Relations that keep each row that was ever in a state."""

    @abstractmethod
    def rows(self, state: State) -> Mapping[Relation, Rows]:
        """Return the rows of each changing relation in the state."""

    @abstractmethod
    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        """Return the elements in these pictures, and their rigid facts."""

    @abstractmethod
    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        """Yield names and parameters of steps that may lead from `now` towards `goal`."""

    def picture(self, state: State, seen: Picture | None) -> Picture:
        """Return the picture of a state.  `seen`: the picture before it, or None at first."""
        shown = self.rows(state)
        found = []
        for at, relation in enumerate(self.layer.changing):
            rows = shown[relation]
            if seen is not None and relation in self.history:
                rows |= seen[at]
            found.append(rows)
        return tuple(found)

    def structures(self, *pictures: Picture) -> list[Structure]:
        """Return the pictures as states over the same elements."""
        elements, rigid, values = self.content(pictures)
        return [
            Structure(
                elements,
                {**rigid, **dict(zip(self.layer.changing, picture, strict=True))},
                values,
            )
            for picture in pictures
        ]

    def shown(self, pictures: tuple[Picture, ...], relation: Relation) -> Rows:
        """Return the rows of a changing relation in any of the pictures."""
        at = self.layer.changing.index(relation)
        return frozenset().union(*(picture[at] for picture in pictures))

    def values_of(self, state: State, name: str) -> dict[str, Any]:
        """Return a member's attributes; for a stopped member, those on its disk."""
        at = self.reference.codes.names.index(name)
        code, local = self.reference.codes.members[at], state.locals[at]
        if local.up:
            return dict(code.held(local))
        return dict(code.on_disk(local))

    def monitor_of(self, state: State) -> dict[str, Any]:
        """Return the monitor's attributes."""
        code, local = self.reference.codes.monitor, state.monitor
        assert code is not None
        assert local is not None
        return dict(code.held(local))
