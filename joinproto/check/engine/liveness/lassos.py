"""The open duties that `joinproto/check/lassos.py` needs, with states and steps as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.liveness.duties import Duties, choices_before
from joinproto.check.engine.shapes import Flags
from joinproto.check.lassos import OpenDuty

if TYPE_CHECKING:
    from joinproto.check.engine.liveness.graph import Graph


class _DutyInPart(OpenDuty):
    """A duty that is possible in a part.

    `own`: bool (kind,): which kinds of steps fulfil the duty.  `inside`: bool (step,), the steps
    within the part.  `here`: bool (state,), the part's states.
    """

    def __init__(
        self, graph: Graph, name: str, *, strong: bool, own: Flags, inside: Flags, here: Flags
    ) -> None:
        super().__init__(name, strong)
        self._graph, self._own, self._inside, self._here = graph, own, inside, here

    def is_possible(self, at: int) -> bool:
        first, end = self._graph.first[at : at + 2]
        return bool(self._own[self._graph.kind[first:end]].any())

    def is_fulfilled_by(self, edge: int) -> bool:
        return bool(self._inside[edge] and self._own[self._graph.kind[edge]])

    def impossible(self) -> Flags | None:
        left = self._here.copy()
        left[self._graph.source[self._own[self._graph.kind]]] = False
        return left if left.any() else None

    def sources(self) -> Flags:
        found = np.zeros(self._graph.count, np.bool_)
        found[self._graph.source[self._own[self._graph.kind] & self._inside]] = True
        return found


def due_in(graph: Graph, here: Flags, inside: Flags, duties: list[Duties]) -> list[OpenDuty]:
    """Return the duties that are possible in the part with states `here` and steps `inside`."""
    among = np.zeros(len(graph.infos), np.bool_)
    among[graph.kind[here[graph.source]]] = True
    due: list[OpenDuty] = []
    for group in duties:
        found = []
        for label in group.fulfilled_in(np.flatnonzero(among)):
            own = group.label == label
            name = group.name(label)
            one = _DutyInPart(graph, name, strong=group.strong, own=own, inside=inside, here=here)
            found.append((_order(graph, group, label, name), one))
        due += [one for _, one in sorted(found, key=lambda pair: pair[0])]
    return due


def _order(graph: Graph, group: Duties, label: int, name: str) -> tuple[Any, ...]:
    """Return the sort key of a duty: rank, first level where it is possible, place, name."""
    own = np.flatnonzero(group.label == label)
    first = graph.source[graph.first_of_kind[own]]
    level, end = graph.level_of(int(first.min()))
    infos = set(graph.infos[own[first < end]].tolist())
    place = min(choices_before(graph.search.tables, info) for info in infos)
    return (*group.rank(label), level, place, name)
