"""States, outcomes and observations after an exchange of members of a group."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from joinproto.check.freeze import rename
from joinproto.check.frozen import Frozen
from joinproto.check.local import LocalState, Outcome
from joinproto.check.view import ShownAttributes

Item = TypeVar("Item", bound=Hashable)


def orbit(start: Item, images: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """Return `start`, then all other items that repeated use of `images` reaches from it."""
    found, known = [start], {start}
    for item in found:
        for other in images(item):
            if other not in known:
                known.add(other)
                found.append(other)
    return found


class StateRenamer:
    """Renames states by a swap of neighbours, each state once, because it has many cells.

    `maps`: for each swap, its renaming of members' names.
    """

    def __init__(self, maps: Sequence[dict[str, str]]) -> None:
        self._maps = maps
        self._known: list[dict[LocalState, LocalState]] = [{} for _ in maps]

    def state(self, j: int, state: LocalState) -> LocalState:
        """Return a member's state with neighbours j and j + 1 exchanged."""
        known = self._known[j].get(state)
        if known is None:
            names = self._maps[j]
            parts = rename(state.values, names), rename(state.disk, names)
            known = LocalState(state.up, *parts, state.ended)
            self.keep(j, state, known)
        return known

    def keep(self, j: int, state: LocalState, other: LocalState) -> None:
        """Note that swap j, which is its own inverse, maps these two states to each other."""
        self._known[j][state] = other
        self._known[j][other] = state

    def outcome(self, j: int, outcome: Outcome) -> Outcome:
        """Return the compared parts of an outcome, renamed."""
        names = self._maps[j]
        return Outcome(
            self.state(j, outcome.after),
            tuple(
                (None if to is None else names.get(to, to), rename(content, names))
                for to, content in outcome.sent
            ),
            rename(outcome.recorded, names),
            outcome.cost,
        )


def renamed_shown(observation: tuple[Any, Any], names: dict[str, str]) -> tuple[Any, Any]:
    """Rename members in the observation of a member and its disk; attributes keep their names."""
    shown, disk = observation
    if type(shown) is Frozen and shown.kind is ShownAttributes:
        shown = Frozen(
            ShownAttributes, (tuple((key, rename(held, names)) for key, held in shown.parts[0]),)
        )
    else:
        shown = rename(shown, names)
    return shown, rename(disk, names)
