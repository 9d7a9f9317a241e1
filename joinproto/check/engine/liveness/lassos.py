"""What `joinproto/check/lassos.py` asks of a graph, where states and steps are arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.liveness.duties import Duties, place_of
from joinproto.check.engine.shapes import Flags, Ints
from joinproto.check.lassos import Due

if TYPE_CHECKING:
    from joinproto.check.engine.liveness.graph import Graph


def distances(graph: Graph, goal: Flags, allowed: Flags | None, beyond: Ints | None) -> Ints:
    """Return for each state how many steps (of `allowed`) lead to a state of `goal`, or -1.

    `beyond`: how many more from each such state on, -1: it is none after all.
    """
    begin = np.where(goal, 0 if beyond is None else beyond, -1)
    far = np.full(graph.count, -1, np.int64)
    source = graph.source if allowed is None else graph.source[allowed]
    target = graph.target if allowed is None else graph.target[allowed]
    last, step = int(begin.max(initial=-1)), 0
    while True:
        if step <= last:
            far[(begin == step) & (far < 0)] = step
        new = (far[target] == step) & (far[source] < 0)
        if not new.any() and step >= last:
            return far
        far[source[new]] = step + 1
        step += 1


def due_in(
    graph: Graph, entry: int, inside: Flags, duties: list[Duties]
) -> tuple[set[int], list[Due]]:
    """Return the states of the part of `entry`, whose steps are `inside`, and what is due there."""
    states = np.unique(np.append(graph.source[inside], entry))
    here = np.zeros(graph.count, np.bool_)
    here[states] = True
    out = np.flatnonzero(here[graph.source])
    due = []
    for group in duties:
        found = []
        for label in group.open_in(out):
            edges = out[group.label[out] == label]
            own = edges[inside[edges]]
            sources = [set(graph.source[some].tolist()) for some in (edges, own)]
            one = Due(group.name(label), group.strong, sources[0], set(own.tolist()), sources[1])
            found.append((_order(graph, group, label), one))
        due += [one for _, one in sorted(found, key=lambda pair: pair[0])]
    return set(states.tolist()), due


def _order(graph: Graph, group: Duties, label: int) -> tuple[Any, ...]:
    """Return what puts duties in order: whose, where it is first possible, and what."""
    edges = np.flatnonzero(group.label == label)
    level, end = graph.level_of(int(graph.source[edges[0]]))
    first = np.unique(graph.info[edges[graph.source[edges] < end]])
    place = min(place_of(graph.search.tables, info) for info in first.tolist())
    return (*group.rank(label), level, place, group.name(label))
