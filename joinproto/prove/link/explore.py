"""The steps of a searched world, one by one, made by the code that ships.

The link first takes steps breadth first, and then random walks, which reach states for which a
search would need hours.  The steps come from `joinproto.check.plain_steps`, which follows the
definitions directly.
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
    """A step of the world.  `level`: the number of steps to `before` in the run that was taken."""

    level: int
    before: State
    move: Move
    after: State


class Walk(Steps):
    """The world's states and steps; each answer of a member is computed once."""

    def text_of(self, message: Sent) -> str:
        """Return a text by which messages are sorted.

        The text has no `repr` of a set, which differs between processes: a seed must always give
        the same walks.
        """
        sender, to, content = message
        value = thaw(content)
        return f"{sender} {to} {type(value).__name__} {value}"

    def random_steps(self, seed: int, length: int) -> Iterator[WorldStep]:
        """Yield the steps of endlessly many random walks from the initial state.

        `length`: the most steps of one walk.
        """
        dice = random.Random(seed)
        while True:
            state = self.initial()
            for level in range(length):
                steps = [(move, after) for move, after in self.successors(state) if after != state]
                if not steps:
                    break
                move, after = dice.choice(steps)
                yield WorldStep(level, state, move, after)
                state = after
