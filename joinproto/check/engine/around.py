"""The world around the members, as arrays: which faults are left, and who is cut off from whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from joinproto.check.engine.kernel import Around
from joinproto.check.environment import FAULTS, Environment, Surroundings


def around(
    environment: Environment, number_of: Mapping[Surroundings, int], members: Sequence[str]
) -> tuple[Around, list[tuple[str, Surroundings]]]:
    """Return the arrays, and what each move of the world is: its action, and what is after it."""
    count = len(environment.states)
    spend = np.full((1 + len(FAULTS), count), -1, np.int32)
    link_up = np.ones((count, len(members) ** 2), np.int8)
    is_split = np.zeros(count, np.int8)
    first = np.zeros(count, np.int32)
    counts = np.zeros(count, np.int32)
    moves: list[tuple[str, Surroundings]] = []
    for number, state in enumerate(environment.states):
        spend[0, number] = number
        for cost, fault in enumerate(FAULTS, start=1):
            left = environment.spend(state, fault)
            if left is not None:
                spend[cost, number] = number_of[left]
        if state.split is not None:
            is_split[number] = 1
            within = np.array([name in state.split for name in members])
            link_up[number] = np.equal.outer(within, within).ravel()
        first[number] = len(moves)
        moves += environment.moves(state)
        counts[number] = len(moves) - first[number]
    after = np.array([number_of[state] for _, state in moves] or [0], np.int32)
    return Around(spend, link_up, is_split, first, counts, after), moves
