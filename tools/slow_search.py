"""A slow and simple search, with which every engine is compared.

States are in a dictionary, each step calls the member's code (`joinproto/check/reference.py`), and
only the states are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from attrs import Factory, define

from joinproto.check.reference import Failing, Led, Reference, State, raise_failing, way_to
from joinproto.check.steps import Move
from joinproto.check.world import World


@define
class Explored:
    """All reachable states.  `level_of`: state to level, from 0 for initial states.

    `edges`: (source, move, target), states by number; empty unless `keep_edges`.  `stopped`:
    whether the search ended early.  `beyond`: the number of states without steps because of the
    world's `within`.
    """

    reference: Reference
    level_of: dict[State, int] = Factory(dict)
    generated: int = 1
    edges: list[tuple[int, Move, int]] = Factory(list)
    stopped: bool = False
    beyond: int = 0

    @property
    def distinct(self) -> int:
        return len(self.level_of)

    @property
    def levels(self) -> tuple[int, ...]:
        counts = [0] * (1 + max(self.level_of.values()))
        for level in self.level_of.values():
            counts[level] += 1
        return tuple(counts)

    def way_to(self, hits: Collection[State]) -> Led:
        """Return the first shortest run to one of `hits`, which are all of one level."""
        reference, levels = self.reference, [list[State]() for _ in self.levels]
        for state, level in self.level_of.items():
            levels[level].append(state)

        def out(state: State) -> Iterable[tuple[Move, State]]:
            return () if reference.is_beyond(state) else reference.successors(state)

        return way_to(reference, levels, self.level_of[next(iter(hits))], hits, out)


def explore(world: World, *, states_max: int | None = None, keep_edges: bool = False) -> Explored:
    """Visit all reachable states breadth first, or about `states_max` of them."""
    reference = Reference(world)
    found = Explored(reference)
    keys: set[Any] = set()
    queue = [state for state in reference.initials() if reference.is_first(state, keys)]
    found.generated = len(queue)
    found.level_of.update(dict.fromkeys(queue, 0))
    number = {state: at for at, state in enumerate(queue)}
    failing: Failing = {}
    for state in queue:
        level = found.level_of[state]
        if (states_max is not None and len(queue) >= states_max) or (
            failing and level > found.level_of[next(iter(failing))]
        ):
            found.stopped = True
            break
        reference.failing = []
        if reference.is_beyond(state):
            found.beyond += 1
            continue
        for move, after in reference.successors(state):
            found.generated += 1
            if after not in found.level_of and reference.is_first(after, keys):
                found.level_of[after] = level + 1
                number[after] = len(queue)
                queue.append(after)
            if keep_edges and after in number:
                found.edges.append((number[state], move, number[after]))
        if reference.failing:
            failing[state] = reference.failing
    reference.failing = None
    if failing:
        raise_failing(failing, found.way_to(failing))
    return found
