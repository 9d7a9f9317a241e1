"""Whether a world can do what a log tells, line by line.

A log tells some steps and not others.  After each line the world is in one of a set of states:
those that a step as told leads to, after any steps of which the log says nothing.  A line fits if
that set is not empty.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import Factory, define, frozen

from joinproto.check.asking import ask_of_view
from joinproto.check.plain_steps import Steps
from joinproto.check.reference import State
from joinproto.check.steps import Move, text_of, words
from joinproto.check.world import World
from joinproto.errors import JoinprotoError


class TooMany(JoinprotoError):
    """More states than allowed may be meant: nothing is known of the lines that follow."""


@frozen
class Told:
    """A step that a log tells.  `sender`, `content`: of the message received; None: not said."""

    member: str
    action: str
    sender: str | None = None
    content: str | None = None


def told_by(move: Move) -> list[Told]:
    """Return what a log with everything in it would tell of a step: one for each who takes it."""
    action, _ = words(move)
    if move.message is None:
        return [Told(name, action) for name, _ in move.outcomes]
    message = text_of(move.message)
    sender = None if message.sender is None else message.sender
    return [Told(name, action, sender, message.content) for name, _ in move.outcomes]


def _is_meant(told: Told, one: Told) -> bool:
    """Return whether a line of a log may mean this step."""
    return (
        (told.member, told.action) == (one.member, one.action)
        and told.sender in (None, one.sender)
        and told.content in (None, one.content)
    )


@define
class Follower:
    """`is_logged`: whether such a step would stand in the logs.  `broken`: always-claims of which
    it is certain by now that they are false somewhere on the way.
    """

    steps: Steps
    is_logged: Callable[[Told], bool]
    states_max: int
    possible: dict[State, None]
    broken: dict[str, None] = Factory(dict)
    _onward: dict[State, list[tuple[list[Told], State]]] = Factory(dict)

    @classmethod
    def of(
        cls, world: World, is_logged: Callable[[Told], bool], *, states_max: int = 100_000
    ) -> Follower:
        """Return one that has followed nothing yet; raises `ModelProblem`."""
        steps = Steps(world)
        return cls(steps, is_logged, states_max, dict.fromkeys(steps.initials()))

    def take(self, told: Told) -> bool:
        """Follow a line; return whether it fits.  If not, nothing is changed.

        Raises `TooMany`, and `ModelProblem`.
        """
        found = dict.fromkeys(
            after
            for state in self._before_it()
            for ones, after in self._out_of(state)
            if any(_is_meant(told, one) for one in ones)
        )
        if not found:
            return False
        self.possible = found
        for item in self.steps.world.properties:
            if item.kind == "always" and item.name not in self.broken:
                views = map(self.steps.view, found)
                if not any(ask_of_view(item, view) for view in views):
                    self.broken[item.name] = None
        return True

    def options(self, member: str) -> list[str]:
        """Return what this member might have told instead, in words."""
        return sorted(
            {
                one.action if one.content is None else f"{one.action} {one.content}"
                for state in self._before_it()
                for ones, _ in self._out_of(state)
                for one in ones
                if one.member == member and self.is_logged(one)
            }
        )

    def _before_it(self) -> dict[State, None]:
        """Return where the world may be after steps that no log tells."""
        found, rest = dict(self.possible), [*self.possible]
        for state in rest:
            for ones, after in self._out_of(state):
                if after not in found and not any(map(self.is_logged, ones)):
                    found[after] = None
                    rest.append(after)
            if len(found) > self.states_max:
                raise TooMany(
                    f"more than {self.states_max:,} states are possible",
                    next="let patterns name more steps, or bound the world",
                )
        return found

    def _out_of(self, state: State) -> list[tuple[list[Told], State]]:
        if state not in self._onward:
            self._onward[state] = [
                (told_by(move), after) for move, after in self.steps.successors(state)
            ]
        return self._onward[state]
