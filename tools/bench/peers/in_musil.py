"""Two-phase commit as a user of musil would write it: a state is a frozen dataclass.

    python3.12 in_musil.py two-phase-commit --members 5

This file imports only the standard library and musil, because it runs in another Python.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from musil import Action, Model, check


@dataclass(frozen=True, slots=True)
class State:
    """A state.  `known`: the managers that the transaction manager knows to be prepared.

    `told`: the managers that sent `prepared`.
    """

    managers: tuple[str, ...]
    decision: str = "undecided"
    known: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()


def becomes(number: int, now: str, state: State) -> State:
    managers = (*state.managers[:number], now, *state.managers[number + 1 :])
    return replace(state, managers=managers)


def prepares(number: int, state: State) -> State:
    return replace(becomes(number, "prepared", state), told=state.told | {number})


def hears(number: int, state: State) -> State:
    return becomes(number, state.decision, state)


def learns_prepared(number: int, state: State) -> State:
    return replace(state, known=state.known | {number})


def works(number: int, state: State) -> bool:
    return state.managers[number] == "working"


def is_decided(state: State) -> bool:
    return state.decision != "undecided"


def can_learn_prepared(number: int, state: State) -> bool:
    return state.decision == "undecided" and number in state.told


def actions(members: int) -> Iterator[Action]:
    for number in range(members):
        can = partial(works, number)
        yield Action(f"{number} prepares", can, partial(prepares, number))
        yield Action(f"{number} aborts", can, partial(becomes, number, "aborted"))
        yield Action(f"{number} hears", is_decided, partial(hears, number))
        yield Action(
            f"{number} is known",
            partial(can_learn_prepared, number),
            partial(learns_prepared, number),
        )
    yield Action(
        "commit",
        lambda state: not is_decided(state) and len(state.known) == members,
        lambda state: replace(state, decision="committed"),
    )
    yield Action(
        "abort",
        lambda state: not is_decided(state),
        lambda state: replace(state, decision="aborted"),
    )


def main() -> None:
    """Search two-phase commit, and print the result; the name of the world is ignored."""
    asked = argparse.ArgumentParser()
    asked.add_argument("world_name")
    asked.add_argument("--members", type=int, required=True)
    members = asked.parse_args().members
    model = Model(
        init=State(("working",) * members),
        actions=list(actions(members)),
        invariants={"consistent": lambda at: not {"committed", "aborted"} <= set(at.managers)},
    )
    found = check(model, max_states=2**members + 4**members + 6**members + 1)
    result = "holds" if found.ok else "violated"
    if found.truncated:
        result = "truncated"
    print(json.dumps({"result": result, "distinct": found.states_explored}))


if __name__ == "__main__":
    main()
