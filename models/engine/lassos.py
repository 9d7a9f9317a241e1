"""A fair run that breaks a claim, as steps: the way to its circle, the circle, and why it is fair.

The way is a shortest one to any state from which a fair run can go on breaking the claim; the
circle goes from duty to duty by shortest ways, which makes it short, and not always shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from attrs import Factory, define, frozen

from models.engine.duties import Duties
from models.steps import order_of

if TYPE_CHECKING:
    from models.engine.graph import Graph

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@frozen
class Hunt:
    """Runs to be found: first any steps, until a state of `due`; from there on steps of `allowed`.

    `due`: None where a run is to go by `allowed` from the outset.  `goal`: states to come to.
    """

    due: Flags | None
    allowed: Flags
    goal: Flags


@define
class Way:
    """Steps from the state `begin` on.  `due_at`: after how many it was due; None: at no time."""

    begin: int
    edges: list[int]
    due_at: int | None


def distances(graph: Graph, first: Ints, allowed: Flags | None, more: Ints | None = None) -> Ints:
    """Return for each state how many steps (of `allowed`) lead to where `first` says 0, or -1.

    `more`: states that are so many steps away anyhow, -1 for none.
    """
    far = np.where(first == 0, 0, -1)
    source = graph.source if allowed is None else graph.source[allowed]
    target = graph.target if allowed is None else graph.target[allowed]
    last = -1 if more is None else int(more.max(initial=-1))
    step = 0
    while True:
        if more is not None:
            far[(more == step) & (far < 0)] = step
        new = (far[target] == step) & (far[source] < 0)
        if not new.any() and step >= last:
            return far
        far[source[new]] = step + 1
        step += 1


def shortest_way(graph: Graph, hunt: Hunt) -> Way | None:
    """Return the least of the shortest runs from a beginning to the goal, or None."""
    nowhere = np.full(graph.count, -1, np.int64)
    near = distances(graph, np.where(hunt.goal, 0, nowhere), hunt.allowed)
    far = (
        near if hunt.due is None else distances(graph, nowhere, None, np.where(hunt.due, near, -1))
    )
    starts = far[: graph.begins]
    if not (starts >= 0).any():
        return None
    begin = int(np.flatnonzero(starts == starts[starts >= 0].min())[0])
    edges: list[int] = []
    at, due_at = begin, None
    while True:
        if hunt.due is not None and due_at is None and hunt.due[at] and near[at] == far[at]:
            due_at = len(edges)
        second = hunt.due is None or due_at is not None
        left = near if second else far
        if second and left[at] == 0:
            return Way(begin, edges, due_at)
        edge = _least(graph, at, left, hunt.allowed if second else None)
        edges.append(edge)
        at = int(graph.target[edge])


def _least(graph: Graph, at: int, far: Ints, allowed: Flags | None) -> int:
    options = [
        edge
        for edge in range(int(graph.first[at]), int(graph.first[at + 1]))
        if (allowed is None or allowed[edge]) and far[graph.target[edge]] == far[at] - 1
    ]
    codes = graph.search.tables.codes
    return min(options, key=lambda edge: (order_of(graph.move(edge), codes), edge))


def _go(graph: Graph, at: int, targets: Ints, allowed: Flags) -> list[int]:
    """Return the edges of the least shortest way from `at` to one of `targets`."""
    first = np.full(graph.count, -1, np.int64)
    first[targets] = 0
    far = distances(graph, first, allowed)
    edges = []
    while far[at] > 0:
        edge = _least(graph, at, far, allowed)
        edges.append(edge)
        at = int(graph.target[edge])
    return edges


@define
class _Due:
    """A duty that is possible in a part: at `states`, by `edges`."""

    name: Callable[[], str]
    strong: bool
    states: set[int]
    edges: Ints
    _steps: set[int] = Factory(lambda self: set(self.edges.tolist()), takes_self=True)

    def is_taken(self, cycle: Sequence[int]) -> bool:
        return not self._steps.isdisjoint(cycle)


def fair_circle(
    graph: Graph, entry: int, inside: Flags, duties: Sequence[Duties]
) -> tuple[list[int], list[str]]:
    """Return the edges of a fair circle through `entry`, by `inside` alone, and why it is fair.

    `inside`: the steps within the part of `entry`, in which a fair run can stay.
    """
    states = np.unique(np.append(graph.source[inside], entry))
    here = np.zeros(graph.count, np.bool_)
    here[states] = True
    out = np.flatnonzero(here[graph.source])
    due = []
    for group in duties:
        for label in group.open_in(out):
            edges = out[group.label[out] == label]
            name = _named(group, label)
            due.append(_Due(name, group.strong, set(graph.source[edges].tolist()), edges))
    cycle = _by_duties(graph, entry, inside, set(states.tolist()), due)
    reasons = [_reason(one, cycle) for one in due]
    if not cycle:
        loops = np.flatnonzero(inside & (graph.source == entry) & (graph.target == entry))
        reasons = reasons or ["nothing that fairness forces is possible any more"]
        cycle = [int(loops[0])] if len(loops) and due else []
    return cycle, reasons


def _named(group: Duties, label: int) -> Callable[[], str]:
    return lambda: group.name(label)


def _reason(one: _Due, cycle: list[int]) -> str:
    if one.is_taken(cycle):
        return f"{one.name()} is taken"
    return f"{one.name()} is {'never' if one.strong else 'not always'} possible"


def _by_duties(
    graph: Graph, entry: int, inside: Flags, everywhere: set[int], due: list[_Due]
) -> list[int]:
    cycle: list[int] = []
    at = entry

    def walk(way: list[int]) -> None:
        nonlocal at
        cycle.extend(way)
        at = int(graph.target[cycle[-1]]) if cycle else entry

    def take(one: _Due) -> None:
        taking = one.edges[inside[one.edges]]
        way = _go(graph, at, np.unique(graph.source[taking]), inside)
        end = int(graph.target[way[-1]]) if way else at
        walk([*way, int(next(e for e in taking if graph.source[e] == end))])

    for one in due:
        visited = {entry, *(int(graph.target[e]) for e in cycle)}
        impossible = everywhere - one.states
        if one.strong or one.is_taken(cycle) or impossible & visited:
            continue
        if impossible:
            walk(_go(graph, at, np.array(sorted(impossible)), inside))
        else:
            take(one)
    while True:
        if at != entry:
            walk(_go(graph, at, np.array([entry]), inside))
        visited = {entry, *(int(graph.target[e]) for e in cycle)}
        # A strong duty binds wherever the circle passes a state in which it is possible.
        late = [
            one for one in due if one.strong and one.states & visited and not one.is_taken(cycle)
        ]
        if not late:
            return cycle
        take(late[0])
