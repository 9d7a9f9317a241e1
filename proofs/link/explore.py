"""The steps of a searched world, one by one, by the code that ships.

The search is the obvious one of `models.reference`; each call of a member's code is made once
and remembered, and messages come in no particular order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from attrs import frozen

from models.local import LocalState, MemberCode, Outcome
from models.reference import Reference, State
from models.steps import Move
from models.world import World


class Remembering:
    """A member's code whose answers are remembered."""

    def __init__(self, code: MemberCode) -> None:
        self.name = code.name
        self.names = code.names
        self.persistent = code.persistent
        self._code = code
        self._run: dict[tuple[LocalState, Hashable], tuple[Outcome, ...] | None] = {}
        self._known: dict[tuple[str, LocalState], Any] = {}

    def run(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        key = (local, event)
        if key not in self._run:
            self._run[key] = self._code.run(local, event)
        return self._run[key]

    def choices(self, local: LocalState) -> Any:
        return self._once("choices", local, self._code.choices)

    def horizon(self, local: LocalState) -> Any:
        return self._once("horizon", local, self._code.horizon)

    def shows(self, local: LocalState) -> Any:
        return self._once("shows", local, self._code.shows)

    def shows_disk(self, local: LocalState) -> Any:
        return self._once("shows_disk", local, self._code.shows_disk)

    def before_start(self) -> LocalState:
        return self._code.before_start()

    def describe(self, local: LocalState) -> dict[str, str]:
        return self._code.describe(local)

    def _once(self, what: str, local: LocalState, ask: Callable[[LocalState], Any]) -> Any:
        key = (what, local)
        if key not in self._known:
            self._known[key] = ask(local)
        return self._known[key]


@frozen
class Taken:
    """A step of the world.  `level`: how many steps lead to `before`, at least."""

    level: int
    before: State
    move: Move
    after: State


class Walk(Reference):
    """The world's states and steps, with members that remember."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        codes: Any = self.codes
        self.codes = type(codes)(
            *[
                tuple(map(Remembering, value)) if name == "members" else value
                for name, value in _parts(codes)
            ]
        )

    def steps(self, stop: Callable[[], bool]) -> Iterator[Taken]:
        """Yield every step, breadth first, until there is none left or `stop` says so."""
        first = self.initial()
        level_of = {first: 0}
        queue = [first]
        for state in queue:
            for move, after in self.successors(state):
                if after not in level_of:
                    level_of[after] = level_of[state] + 1
                    queue.append(after)
                yield Taken(level_of[state], state, move, after)
            if stop():
                return


def _parts(codes: Any) -> list[tuple[str, Any]]:
    return [(item.name, getattr(codes, item.name)) for item in type(codes).__attrs_attrs__]
