"""The rest of a world around its large member: the other members, and the messages under way.

A state of a world is a local state of the large member and a state of the rest.  The rest has few
states.  So they are numbered, and each step is computed once for each of them, by the definitions
in `joinproto/check/reference.py`.  To these, the large member is a placeholder (`PLACE`), which
takes every message, changes nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Hashable

from attrs import Factory, define, evolve

from joinproto.check.direct_member import Effects
from joinproto.check.events import Message
from joinproto.check.local import LocalState, Outcome
from joinproto.check.member import MemberCode
from joinproto.check.plain_steps import Steps
from joinproto.check.reference import State
from joinproto.check.steps import Move
from joinproto.check.world import World

# No frozen value equals an object of its own.
PLACE = LocalState(True, (object(),), ())
"""The local state of the large member in states of the rest."""

_TAKES = (Outcome(PLACE),)

BLOCKED = -1
"""In place of a state of the rest: a message finds its link full, and the step waits."""


class RestSteps(Steps):
    """The steps of a world, also of states in which one member, of number `large`, is `PLACE`."""

    def __init__(self, world: World, large: int) -> None:
        super().__init__(world)
        self.large = large
        known = self.codes.members[large].known
        assert known is not None
        known.answers |= {"choices": {PLACE: ()}, "shown": {PLACE: PLACE}}

    def _ask(self, code: MemberCode, local: LocalState, event: Hashable) -> tuple[Outcome, ...]:
        return _TAKES if local is PLACE else super()._ask(code, local, event)

    def after_sending(self, state: State, effects: Effects) -> State | None:
        """Return the state of the rest after a step of the large member; None if it is blocked."""
        return self._after(state, self.codes.names[self.large], Outcome(PLACE, effects[0]))


@define
class Rest:
    """The states of the rest, numbered from 0 in the order in which they are found.

    `onward`: for each state that was expanded, the states after each step of the rest alone;
    `moves`: these steps; `offers`: the messages that reach the large member, by number, each with
    the state of the rest without that message.  `messages`: all messages to the large member.
    """

    steps: RestSteps
    states: list[State] = Factory(list)
    onward: dict[int, list[int]] = Factory(dict)
    moves: dict[int, list[Move]] = Factory(dict)
    offers: dict[int, list[tuple[int, int]]] = Factory(dict)
    messages: list[Message] = Factory(list)
    _numbers: dict[State, int] = Factory(dict)
    _events: dict[Message, int] = Factory(dict)

    def number(self, state: State) -> int:
        """Return the number of the rest of a state, whatever its large member is."""
        locals_, large = state.locals, self.steps.large
        if locals_[large] is not PLACE:
            locals_ = (*locals_[:large], PLACE, *locals_[large + 1 :])
            state = evolve(state, locals=locals_)
        found = self._numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
        return found

    def expand(self, at: int) -> None:
        """Compute all steps of the rest, and all messages that reach the large member."""
        name = self.steps.codes.names[self.steps.large]
        self.onward[at], self.moves[at], self.offers[at] = [], [], []
        for move, state in self.steps.successors(self.states[at]):
            after = self.number(state)
            if move.member == name:
                event = move.event
                assert type(event) is Message
                number = self._events.setdefault(event, len(self.messages))
                if number == len(self.messages):
                    self.messages.append(event)
                self.offers[at].append((number, after))
            else:
                self.onward[at].append(after)
                self.moves[at].append(move)

    def after(self, at: int, effects: Effects) -> int:
        """Return the state of the rest after the large member sent messages, or `BLOCKED`."""
        state = self.steps.after_sending(self.states[at], effects)
        return BLOCKED if state is None else self.number(state)

    def full_state(self, at: int, local: LocalState) -> State:
        """Return the state of the world with this rest, and the large member in state `local`."""
        state, large = self.states[at], self.steps.large
        return evolve(state, locals=(*state.locals[:large], local, *state.locals[large + 1 :]))
