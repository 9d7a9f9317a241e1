"""The steps of a searched world, one by one, by the code that ships.

Breadth first at the beginning, then walks at random, which come to places that a search
would need hours for.  The steps are those of `joinproto.check.plain_steps`, straight from the
definitions; each call of a member's code is made once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from attrs import frozen

from joinproto.check.freeze import thaw
from joinproto.check.plain_steps import Steps
from joinproto.check.reference import State
from joinproto.check.steps import Move, Sent


@frozen
class WorldStep:
    """A step of the world.  `level`: how many steps lead to `before` on the way it was found."""

    level: int
    before: State
    move: Move
    after: State


class Walk(Steps):
    """The world's states and steps, each question to a member asked once."""

    def text_of(self, message: Sent) -> str:
        """Return a text by which messages are put in order.

        It is made of their words: `repr` of a set depends on the process, and a seed should not.
        """
        sender, to, content = message
        said = thaw(content)
        return f"{sender} {to} {type(said).__name__} {said}"

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
