"""A search on demand: breadth first, a little at a time, and shortest runs to requested states.

This is `joinproto.check.reference`'s search over the states that the page walks, so a walk and a
search use the same numbers.  `joinproto check` is for large worlds; this search continues while a
person looks at the page, and stops at `STATES_MAX`.
"""

from __future__ import annotations

import time
from array import array
from typing import Any

from attrs import Factory, define, field

from joinproto.check.plain_coverage import TakenSteps
from joinproto.errors import UsageProblem
from joinproto.explore.graph import Graph, Json
from joinproto.explore.walking import StateTest

STATES_MAX = 200_000
"""The most states of a search in plain Python: a few hundred MB."""

LIMIT = (
    f"The search here ends at {STATES_MAX:,} states. With the extra [check], joinproto explore"
    " asks its engine about more."
)


@define
class PageSearch:
    """The states found so far, by level.

    `order`: their numbers in the graph, level by level.  `levels`: where each level begins in
    `order`.  `parent`: a state's number to the number that it was found from, and the index of the
    step.  `expanded`: how many states of `order` were expanded.  `edges`: the numbers that their
    steps lead to; the edges of `order[i]` begin at `begins[i]`.  `taken`: the counts of steps.
    """

    graph: Graph
    order: list[int] = Factory(list)
    levels: list[int] = Factory(list)
    parent: dict[int, tuple[int, int] | None] = Factory(dict)
    expanded: int = 0
    begins: array[int] = field(factory=lambda: array("q", [0]))
    edges: array[int] = field(factory=lambda: array("q"))
    taken: TakenSteps = Factory(TakenSteps)
    _keys: set[Any] = Factory(set)
    _places: dict[str, int] = Factory(dict)
    _level_ends: int = 0

    def __attrs_post_init__(self) -> None:
        for at in self.graph.firsts:
            if self.graph.steps.is_first(self.graph.state(at), self._keys):
                self._found(at, None)
        self.levels.append(0)
        self._level_ends = len(self.order)

    @property
    def whole(self) -> bool:
        """Return whether all states and their steps were found."""
        return self.expanded == len(self.order)

    @property
    def stop_reason(self) -> str:
        """Return why the search cannot continue; "" if it can."""
        return LIMIT if len(self.order) >= STATES_MAX and not self.whole else ""

    def counts(self) -> list[int]:
        """Return how many states each level has."""
        ends = [*self.levels[1:], len(self.order)]
        found = [end - begin for begin, end in zip(self.levels, ends, strict=True)]
        return found if found[-1] else found[:-1]

    def search_for(self, seconds: float) -> None:
        """Search for at most `seconds`, or until the search is complete or stopped."""
        until = time.perf_counter() + seconds
        while not self.whole and not self.stop_reason:
            self.step()
            if self.expanded % 16 == 0 and time.perf_counter() > until:
                return

    def step(self) -> None:
        """Expand the next state."""
        graph, source = self.graph, self.order[self.expanded]
        known = source in graph.known_steps
        for index, (move, to) in enumerate(graph.steps_out(source)):
            self.taken.add(move)
            self.edges.append(to)
            if to not in self.parent and graph.steps.is_first(graph.state(to), self._keys):
                self._found(to, (source, index))
        if not known:
            # Few states are looked at again, and `Graph.steps_out` can make their steps again.
            del graph.known_steps[source]
        self.expanded += 1
        self.begins.append(len(self.edges))
        if self.expanded == self._level_ends:
            self.levels.append(self.expanded)
            self._level_ends = len(self.order)

    def _found(self, at: int, parent: tuple[int, int] | None) -> None:
        self.parent[at] = parent
        self.order.append(at)

    # -- shortest runs -------------------------------------------------------------------

    def way(self, at: int) -> Json:
        """Return a shortest run to a state that was found; raises `UsageProblem` otherwise."""
        if at not in self.parent:
            raise UsageProblem(
                f"state {at} was not found by the search", next="continue the search"
            )
        return self.graph.run_to(at, self.parent)

    def nearest(self, question: str, is_goal: StateTest, seconds: float) -> int | None:
        """Return the first state for which `is_goal` holds; None if none is found in `seconds`.

        `question`: its words; the same question continues where it ended before.
        """
        until = time.perf_counter() + seconds
        place, found = self._places.get(question, 0), None
        while True:
            if place < len(self.order):
                if is_goal(self.order[place]):
                    found = self.order[place]
                    break
                place += 1
            elif self.whole or self.stop_reason:
                break
            else:
                self.step()
            if time.perf_counter() > until:
                break
        self._places[question] = place
        return found

    def json(self) -> Json:
        """Return the progress of the search."""
        return {
            "states": len(self.order),
            "levels": self.counts(),
            "steps": len(self.edges),
            "whole": self.whole,
            "stopped": self.stop_reason,
        }
