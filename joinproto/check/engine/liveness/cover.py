"""A small set of runs that covers all table rows, steps or pairs of table rows of a searched graph.

The open goal that was found last comes first.  Its run is a shortest one to the goal, and continues
as long as a next step covers a further open goal.  A goal that a run covers is no longer open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from joinproto.check.cover import Goal
from joinproto.check.engine.liveness.graph import Graph
from joinproto.check.engine.shapes import Ints
from joinproto.check.lassos import Run
from joinproto.check.steps import Move


class Cover:
    """Finds runs that cover goals.  `names_of`: returns the table rows that a step takes.

    `concerns`: whether goals are about a step; for a pair, one of the two steps is enough.  Steps
    that change nothing are in no run.
    """

    def __init__(
        self,
        graph: Graph,
        goal: Goal,
        names_of: Callable[[Move], tuple[str, ...]],
        concerns: Callable[[Move], bool],
    ) -> None:
        self.graph, self.goal = graph, goal
        _, first, self.kind = np.unique(graph.info, return_index=True, return_inverse=True)
        moves = [graph.move(edge) for edge in first.tolist()]
        self.names, self.concerned = [*map(names_of, moves)], [*map(concerns, moves)]
        self.moving = graph.source != graph.target
        # The first edge into each state, from the level before it.
        levels = np.searchsorted(np.array(graph.levels), np.arange(graph.count), side="right")
        onward = np.flatnonzero(levels[graph.target] == levels[graph.source] + 1)[::-1]
        self.into: Ints = np.full(graph.count, -1, np.int64)
        self.into[graph.target[onward]] = onward

    def wanted(self) -> dict[Hashable, tuple[int, ...]]:
        """Return each goal with the first edges that cover it, in the order of the search."""
        found: dict[Hashable, tuple[int, ...]] = {}
        for edges in self._candidates():
            for taken in self._taken(edges, len(edges) - 1):
                found.setdefault(taken, edges)
        return found

    def runs(self, wanted: dict[Hashable, tuple[int, ...]], steps_max: int) -> Iterator[Run]:
        """Yield runs that cover all of `wanted`; a run with `steps_max` steps is not continued."""
        open_goals = dict.fromkeys(wanted)
        for goal, edges in reversed(wanted.items()):
            if goal not in open_goals:
                continue
            run, at = self._shortest_run_of(edges), 0
            while at < len(run.edges):
                for place in range(at, len(run.edges)):
                    for taken in self._taken(run.edges, place):
                        open_goals.pop(taken, None)
                at = len(run.edges)
                if at < steps_max:
                    run.edges += self._next_edge(run, open_goals)
            yield run

    def _candidates(self) -> Iterator[tuple[int, ...]]:
        moving = np.flatnonzero(self.moving)
        if self.goal == "rows":
            # The first edge of each kind is enough.
            moving = moving[np.sort(np.unique(self.kind[moving], return_index=True)[1])]
        for edge in moving.tolist():
            if self.goal != "pairs":
                yield (edge,)
            else:
                yield from ((edge, after) for after in self._out_of(int(self.graph.target[edge])))

    def _taken(self, edges: Sequence[int], place: int) -> Iterator[Hashable]:
        """Yield the goals that the edge at this place covers."""
        edge = edges[place]
        before = self.goal == "pairs" and place and self.concerned[self.kind[edges[place - 1]]]
        if not (before or self.concerned[self.kind[edge]]):
            return
        if self.goal == "edges":
            yield int(self.graph.source[edge]), self.graph.info_of(edge)
        elif self.goal == "rows":
            yield from self.names[self.kind[edge]]
        elif place:
            for one in self.names[self.kind[edges[place - 1]]]:
                yield from (f"{one}, then {other}" for other in self.names[self.kind[edge]])

    def _shortest_run_of(self, edges: tuple[int, ...]) -> Run:
        way, state = [*edges], int(self.graph.source[edges[0]])
        while (into := int(self.into[state])) >= 0:
            way.insert(0, into)
            state = int(self.graph.source[into])
        return Run(state, way)

    def _next_edge(self, run: Run, open_goals: dict[Hashable, None]) -> list[int]:
        """Return a list of one next edge that covers an open goal, or []."""
        last = run.edges[-1]
        for edge in self._out_of(int(self.graph.target[last])):
            if any(taken in open_goals for taken in self._taken((last, edge), 1)):
                return [edge]
        return []

    def _out_of(self, state: int) -> Iterator[int]:
        return (edge for edge in self.graph.out_of(state) if self.moving[edge])
