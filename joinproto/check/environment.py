"""The world around the members: which faults may still happen, and how the network is split."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from attrs import evolve, frozen

from joinproto.check.faults import UNLIMITED, Split
from joinproto.check.world import World

Fault = Literal["crash", "wipe", "lose", "double"]
FAULTS: tuple[Fault, ...] = ("crash", "wipe", "lose", "double")


@frozen
class Surroundings:
    """The remaining budget of each fault; `split`: the present partition, or None."""

    crash: int
    wipe: int
    lose: int
    double: int
    partitions: int
    split: Split | None = None


@frozen
class Environment:
    """All surroundings that a run may reach; initial states have the first of them."""

    states: tuple[Surroundings, ...]
    splits: tuple[Split, ...]

    @classmethod
    def of(cls, world: World) -> Environment:
        faults = world.faults
        splits = faults.splits
        if splits is None:
            splits = every_split(tuple(world.members)) if faults.partitions else ()
        budgets = faults.crashes, faults.wipes, faults.losses, faults.duplicates, faults.partitions
        first = Surroundings(*budgets)
        found = cls((), splits)
        states = [first]
        seen = {first}
        for state in states:
            after = [found.spend(state, fault) for fault in FAULTS]
            for item in (*after, *(moved for _, moved in found.moves(state))):
                if item is not None and item not in seen:
                    seen.add(item)
                    states.append(item)
        return cls(tuple(states), splits)

    def spend(self, state: Surroundings, fault: Fault) -> Surroundings | None:
        """Return the surroundings after the fault, or None if its budget is spent."""
        left: int = getattr(state, fault)
        if left == 0:
            return None
        return state if left >= UNLIMITED else evolve(state, **{fault: left - 1})  # type: ignore[arg-type]

    def moves(self, state: Surroundings) -> Iterator[tuple[str, Surroundings]]:
        """Yield ("split" or "heal", the surroundings after it): only a split is a fault."""
        if state.split is not None:
            yield "heal", evolve(state, split=None)
        elif state.partitions > 0:
            left = state.partitions
            after = left if left >= UNLIMITED else left - 1
            for side in self.splits:
                yield "split", evolve(state, split=side, partitions=after)


def every_split(names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return every way to cut the members into two groups: the group without the last member."""
    return tuple(
        frozenset(side) for size in range(1, len(names)) for side in combinations(names[:-1], size)
    )
