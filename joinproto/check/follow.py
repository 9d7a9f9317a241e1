"""Comparison of a log with a world, line by line.

A log records some steps and not others.  After each line the world is in one of a set of states:
the states to which the recorded step leads, after any steps that are not recorded.  A line fits if
that set is not empty.  Several members record a joint step, each in a line of its own.  The first
line is the step.  Each of the other lines comes before any other line of its member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import Factory, define, field, frozen

from joinproto.check.asking import ask_of_view
from joinproto.check.plain_steps import Steps
from joinproto.check.reference import State
from joinproto.check.steps import Move, text_of, words
from joinproto.check.world import World
from joinproto.errors import JoinprotoError


class TooMany(JoinprotoError):
    """More states than allowed are possible, so the lines that follow cannot be judged."""


@frozen
class LoggedStep:
    """A step in a log.  `sender`, `content`: of the message received; None if not recorded."""

    member: str
    action: str
    sender: str | None = None
    content: str | None = None

    def may_mean(self, whole: LoggedStep) -> bool:
        """Return whether this line of a log may record the step whose complete line is `whole`."""
        return (
            (self.member, self.action) == (whole.member, whole.action)
            and self.sender in (None, whole.sender)
            and self.content in (None, whole.content)
        )


def lines_of(move: Move) -> list[LoggedStep]:
    """Return the lines that a complete log would have for a step: one for each member that takes
    it.
    """
    action, _ = words(move)
    if move.message is None:
        return [LoggedStep(name, action) for name, _ in move.outcomes]
    message = text_of(move.message)
    return [LoggedStep(name, action, message.sender, message.content) for name, _ in move.outcomes]


_Position = tuple[State, frozenset[LoggedStep]]
"""A state, and the lines of earlier joint steps that the log does not have yet."""


@define
class Follower:
    """Follows a log line by line, with the states in which its world may be.

    `is_logged`: whether logs record a step.  `broken`: the always-claims that were false,
    after some line, in every possible state.
    """

    world: World
    is_logged: Callable[[LoggedStep], bool]
    states_max: int = 100_000
    steps: Steps = field(init=False)
    possible: dict[_Position, None] = field(init=False)
    broken: dict[str, None] = Factory(dict)
    _steps_of: dict[State, list[tuple[list[LoggedStep], frozenset[LoggedStep], State]]] = Factory(
        dict
    )

    def __attrs_post_init__(self) -> None:
        self.steps = Steps(self.world)
        self.possible = dict.fromkeys((at, frozenset()) for at in self.steps.initials())

    def take(self, line: LoggedStep) -> bool:
        """Follow a line; return whether it fits.  If it does not fit, the follower stays as it is.

        Raises `TooMany` for more than `states_max` possible states, and `ModelProblem` for an error
        in the code of the world.
        """
        found = dict.fromkeys(
            after
            for at in self._before_next_line()
            for one, after in self._lines(at)
            if line.may_mean(one)
        )
        if not found:
            return False
        self.possible = found
        for item in self.steps.world.properties:
            if item.kind == "always" and item.name not in self.broken:
                views = map(self.steps.view, {state: None for state, _ in found})
                if not any(ask_of_view(item, view) for view in views):
                    self.broken[item.name] = None
        return True

    def options(self, member: str) -> list[str]:
        """Return the lines of this member that would fit next, in words.  Raises as `take` does."""
        return sorted(
            {
                one.action if one.content is None else f"{one.action} {one.content}"
                for at in self._before_next_line()
                for one, _ in self._lines(at)
                if one.member == member and self.is_logged(one)
            }
        )

    def _lines(self, at: _Position) -> Iterator[tuple[LoggedStep, _Position]]:
        """Yield each line that may be the next one, and the world's position after it."""
        state, open_ones = at
        for one in open_ones:
            yield one, (state, open_ones - {one})
        late = {one.member for one in open_ones}
        for ones, logged, after in self._out_of(state):
            if late.isdisjoint(one.member for one in ones):
                for one in ones:
                    yield one, (after, open_ones | logged - {one})

    def _before_next_line(self) -> dict[_Position, None]:
        """Return the world's possible positions after any steps that no log records."""
        found, rest = dict(self.possible), [*self.possible]
        for state, open_ones in rest:
            for ones, _, after in self._out_of(state):
                if any(map(self.is_logged, ones)):
                    continue
                # The member may have been killed, so that it never writes its missing lines.
                gone = {one.member for one in ones}
                left = frozenset(one for one in open_ones if one.member not in gone)
                for at in dict.fromkeys(((after, open_ones), (after, left))):
                    if at not in found:
                        found[at] = None
                        rest.append(at)
            if len(found) > self.states_max:
                raise TooMany(
                    f"more than {self.states_max:,} states are possible",
                    next="let patterns name more steps, or bound the world",
                )
        return found

    def _out_of(self, state: State) -> list[tuple[list[LoggedStep], frozenset[LoggedStep], State]]:
        """Return the steps out of a state: possible lines, certain lines, and the state after.

        A member that crashes in a joint step may have recorded it before the others, but not after.
        """
        if state not in self._steps_of:
            self._steps_of[state] = []
            for move, after in self.steps.successors(state):
                ones = lines_of(move)
                whole = {name for name, outcome in move.outcomes if outcome.effects is None}
                sure = (one for one in ones if one.member in whole and self.is_logged(one))
                self._steps_of[state].append((ones, frozenset(sure), after))
        return self._steps_of[state]
