"""The steps of a searched world, one by one, by the code that ships.

Breadth first at the beginning, then walks at random, which come to places that a search
would need hours for.  The steps are those of `joinproto.check.reference`, straight from the
definitions; each call of a member's code is made once (memoized).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from attrs import evolve, frozen

from joinproto.check.events import Message
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState, Outcome
from joinproto.check.member import MemberCode
from joinproto.check.reference import Reference, State
from joinproto.check.steps import Kind, Move, Sent
from joinproto.check.world import World


class Memoized:
    """A member's code, each of whose answers is kept."""

    def __init__(self, code: MemberCode) -> None:
        self.code = code
        self._known: dict[Hashable, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.code, name)

    def run(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        found: tuple[Outcome, ...] | None
        found = self._once((local, event), lambda: self.code.run(local, event))
        return found

    def choices(self, local: LocalState) -> Any:
        return self._once(("choices", local), lambda: self.code.choices(local))

    def horizon(self, local: LocalState) -> Any:
        return self._once(("horizon", local), lambda: self.code.horizon(local))

    def shows(self, local: LocalState) -> Any:
        return self._once(("shows", local), lambda: self.code.shows(local))

    def _once(self, key: Hashable, ask: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = ask()
        return self._known[key]


@frozen
class WorldStep:
    """A step of the world.  `level`: how many steps lead to `before` on the way it was found."""

    level: int
    before: State
    move: Move
    after: State


class Walk(Reference):
    """The world's states and steps, with members that remember."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        members: Any = tuple(map(Memoized, self.codes.members))
        monitor: Any = self.codes.monitor and Memoized(self.codes.monitor)
        self.codes = evolve(self.codes, members=members, monitor=monitor)
        self._texts: dict[Sent, str] = {}

    def successors(self, state: State) -> Iterator[tuple[Move, State]]:
        """Yield every step, as `Reference` does; its members' messages are one set."""
        for code, local in zip(self.codes.members, state.locals, strict=True):
            for choice in code.choices(local):
                yield from self._run(state, "choice", code.name, choice.event)
        for message in sorted(state.messages, key=self._text_of):
            sender, to, content = message
            event = Message(sender, content)
            for name in (to,) if to is not None else self.codes.names:
                if name != sender and self._reaches(state, sender, name):
                    yield from self._run(state, "receive", name, event, message)
        for action, around in self.environment.moves(state.around):
            kind: Kind = "split" if action == "split" else "heal"
            yield Move(kind, split=around.split), evolve(state, around=around)
        if self.world.together is not None:
            for step in self.world.joint_steps(self.view(state)):
                yield from self._together(state, step)

    def _text_of(self, message: Sent) -> str:
        # By their words, as `repr` of a set depends on the process, and a seed should not.
        if message not in self._texts:
            sender, to, content = message
            said = thaw(content)
            self._texts[message] = f"{sender} {to} {type(said).__name__} {said}"
        return self._texts[message]

    def at_random(self, seed: int, length: int) -> Iterator[WorldStep]:
        """Yield the steps of walks from the beginning, one after the other, without end."""
        dice = random.Random(seed)
        while True:
            state = self.initial()
            for level in range(length):
                ways = [(move, after) for move, after in self.successors(state) if after != state]
                if not ways:
                    break
                move, after = dice.choice(ways)
                yield WorldStep(level, state, move, after)
                state = after
