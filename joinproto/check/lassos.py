"""A fair run that breaks a claim: the path to its cycle, the cycle, and why the run is fair.

The path is a shortest one to any state from which a fair run can go on breaking the claim.  The
cycle goes from duty to duty by shortest paths, so it is short, but not always the shortest.  Among
equally short paths, the step that `order_of` puts first is taken, and duties have a fixed order.
So every engine finds the same run.

States and steps are numbers.  Flags tell for each state, or each step, whether it belongs to a set;
an engine may keep them as arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, Protocol

from attrs import define, frozen

from joinproto.check.events import Message, plain
from joinproto.check.freeze import thaw
from joinproto.check.local import thaw_event

Flags = Any


class Graph(Protocol):
    """States and steps of a search; the first `begins` states are the initial ones.

    `source`, `target`: the states before and after each step.
    """

    begins: int
    source: Any
    target: Any

    def out_of(self, at: int) -> Iterable[int]:
        """Return the steps out of a state."""

    def order(self, edge: int) -> Any:
        """Return the key by which one of several steps is chosen."""

    def among(self, states: Collection[int]) -> Flags:
        """Return the flags of the set `states`."""

    def distances(self, goal: Flags, allowed: Flags | None, beyond: Any = None) -> Any:
        """Return for each state how many steps (of `allowed`) lead to a state of `goal`, or -1.

        `beyond`: how many further steps to add for each state of `goal`; -1 excludes the state.
        """


@frozen
class RunQuery:
    """Runs to be found: any steps to a state of `due`, then steps of `allowed` to one of `goal`.

    `due`: None if all steps of a run must be of `allowed`.
    """

    due: Flags | None
    allowed: Flags | None
    goal: Flags


@define
class Run:
    """Steps from the state `begin` on.

    `due_at`: how many of the steps lead to a state of `RunQuery.due`, or None.  `loop_at`: how many
    steps lead to the cycle; `fairness`: why the cycle is fair.
    """

    begin: int
    edges: list[int]
    due_at: int | None = None
    loop_at: int | None = None
    fairness: str = ""

    def end(self, graph: Graph) -> int:
        """Return the state to which its steps lead."""
        return int(graph.target[self.edges[-1]]) if self.edges else self.begin


def shortest_run(graph: Graph, query: RunQuery) -> Run | None:
    """Return a shortest run from an initial state to the goal, or None; of several, the first."""
    near = graph.distances(query.goal, query.allowed)
    far = near if query.due is None else graph.distances(query.due, None, near)
    starts = [(int(far[at]), at) for at in range(graph.begins) if far[at] >= 0]
    if not starts:
        return None
    at = begin = min(starts)[1]
    edges: list[int] = []
    due_at = None
    while True:
        if query.due is not None and due_at is None and query.due[at] and near[at] == far[at]:
            due_at = len(edges)
        second = query.due is None or due_at is not None
        left = near if second else far
        if second and left[at] == 0:
            return Run(begin, edges, due_at)
        edges.append(_next_step(graph, at, left, query.allowed if second else None))
        at = int(graph.target[edges[-1]])


def shortest_run_ending_with(graph: Graph, bad: Flags, before: Flags) -> Run | None:
    """Return a shortest run that ends with a step of `bad`, or None; of several, the first.

    `before`: the states before the steps of `bad`.
    """
    way = shortest_run(graph, RunQuery(None, None, before))
    if way is not None:
        last = min((graph.order(e), e) for e in graph.out_of(way.end(graph)) if bad[e])
        way.edges.append(last[1])
    return way


def _next_step(graph: Graph, at: int, far: Any, allowed: Flags | None) -> int:
    """Return the first step that leads nearer to the goal; `far`: each state's distance from it."""
    options = [
        edge
        for edge in graph.out_of(at)
        if (allowed is None or allowed[edge]) and far[graph.target[edge]] == far[at] - 1
    ]
    if len(options) == 1:
        return options[0]
    return min((graph.order(edge), edge) for edge in options)[1]


# -- cycles ------------------------------------------------------------------------------------


class OpenDuty(ABC):
    """A duty that is possible in a part of the graph."""

    def __init__(self, name: str, strong: bool) -> None:
        self.name, self.strong = name, strong

    @abstractmethod
    def is_possible(self, at: int) -> bool:
        """Return whether the duty is possible in this state of the part."""

    @abstractmethod
    def is_fulfilled_by(self, edge: int) -> bool:
        """Return whether this step fulfils the duty and stays in the part."""

    @abstractmethod
    def impossible(self) -> Flags | None:
        """Return the states of the part in which the duty is not possible; None if none are."""

    @abstractmethod
    def sources(self) -> Flags:
        """Return the states before the steps that fulfil the duty and stay in the part."""

    def is_taken(self, cycle: Iterable[int]) -> bool:
        """Return whether a step of the cycle fulfils the duty."""
        return any(map(self.is_fulfilled_by, cycle))

    def reason(self, cycle: Iterable[int]) -> str:
        """Return why a cycle is fair to the duty."""
        if self.is_taken(cycle):
            return f"{self.name} is taken"
        return f"{self.name} is {'never' if self.strong else 'not always'} possible"


def close(graph: Graph, way: Run, inside: Flags, due: Sequence[OpenDuty]) -> Run:
    """Return the run `way` with a fair cycle through its end, and why the cycle is fair.

    `inside`: the steps within the part in which a fair run can stay.
    """
    entry = way.end(graph)
    cycle = _by_duties(graph, entry, inside, due)
    reasons = [one.reason(cycle) for one in due]
    if not due:
        reasons = ["no step that fairness forces is possible any more"]
    elif not cycle:
        loops = [e for e in graph.out_of(entry) if inside[e] and graph.target[e] == entry]
        cycle = [min((graph.order(e), e) for e in loops)[1]] if loops else []
    return Run(way.begin, way.edges + cycle, way.due_at, len(way.edges), "; ".join(reasons))


def _by_duties(graph: Graph, entry: int, inside: Flags, due: Sequence[OpenDuty]) -> list[int]:
    cycle: list[int] = []
    visited, at = {entry}, entry

    def walk(edge: int) -> None:
        nonlocal at
        cycle.append(edge)
        at = int(graph.target[edge])
        visited.add(at)

    def go(targets: Flags) -> None:
        far = graph.distances(targets, inside)
        while far[at] > 0:
            walk(_next_step(graph, at, far, inside))

    def take(one: OpenDuty) -> None:
        go(one.sources())
        options = (e for e in graph.out_of(at) if one.is_fulfilled_by(e))
        walk(min((graph.order(e), e) for e in options)[1])

    for one in due:
        if one.strong or one.is_taken(cycle) or not all(map(one.is_possible, visited)):
            continue
        impossible = one.impossible()
        if impossible is not None:
            go(impossible)
        else:
            take(one)
    while True:
        go(graph.among({entry}))
        # A strong duty must be fulfilled if it is possible in any state of the cycle.
        late = (
            one
            for one in due
            if one.strong and any(map(one.is_possible, visited)) and not one.is_taken(cycle)
        )
        first = next(late, None)
        if first is None:
            return cycle
        take(first)


# -- duties, in words --------------------------------------------------------------------------


def choice_words(name: str, event: Hashable) -> str:
    """Return the name of a choice; `event`: frozen."""
    return f"“{plain(thaw_event(event))}” of {name}"


def receipt_words(name: str, sender: str | None, content: Hashable) -> str:
    """Return the name of a message's receipt; `content`: frozen."""
    return f"receiving {Message(sender, thaw(content))} by {name}"


def joint_words(action: str) -> str:
    return f"“{action}”"


def some_words(actions: Sequence[str], name: str) -> str:
    """Return the name of a duty of any of several steps; `name`: the member, "" for the world."""
    words = " or ".join(f"“{action}”" for action in actions) or "some step"
    return f"{words} of {name}" if name else words
