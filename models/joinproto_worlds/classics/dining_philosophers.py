"""Dining philosophers: two forks each, taken one after the other, as joint steps.

Source: Dijkstra, "Hierarchical ordering of sequential processes".  Each philosopher is without a
fork (T), holds the first (L) or eats with both (E).  A philosopher that eats keeps its right
neighbour at T.  All other states are possible, so the states of a round table are the rings of T, L
and E in which T follows every E: (1 + sqrt 2)^N + (1 - sqrt 2)^N of them (14, 34, 82 for N = 3, 4,
5).  The deadlock has all of them at L, after N steps.  If the last philosopher takes the right fork
first, that ring is cut open and no deadlock is left: with a(n) the rows of n in which T follows
every E, and b(n) those of them that do not end in E, there are a(N-1) + a(N-2) + b(N-2) states (12,
29, 70).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import (
    always_pair,
    always_possible,
    eventually,
    no_deadlock,
    sometimes_one,
)
from joinproto.check.view import View
from joinproto.check.world import Together, World


@define
class Philosopher:
    """A philosopher.  `first`, `second`: the forks in the order in which they are taken."""

    first: str
    second: str
    holds: int = 0

    def receive(self, event: Any) -> Any:
        match event, self.holds:
            case "take the first fork", 0:
                self.holds = 1
            case "take the second fork", 1:
                self.holds = 2
            case "put both down", 2:
                self.holds = 0
            case _:
                return NOT_ENABLED
        return None

    def shows(self) -> frozenset[str]:
        return frozenset((self.first, self.second)[: self.holds])


@define
class Fork:
    taken: bool = False

    def receive(self, event: Any) -> Any:
        wanted = event != "put both down"
        if wanted == self.taken:
            return NOT_ENABLED
        self.taken = wanted
        return None

    def shows(self) -> None:
        return None


def eats(held: frozenset[str]) -> bool:
    return len(held) == 2


def build(members: int = 5, *, left_handed: int = 0) -> World:
    """Return the world of 2 to 12 philosophers; `left_handed` of them take the right fork first."""
    people = [f"p{i}" for i in range(1, members + 1)]
    forks = [f"f{i}" for i in range(1, members + 1)]
    hands = {}
    for i, name in enumerate(people):
        left, right = forks[i], forks[(i + 1) % members]
        hands[name] = (left, right) if i < members - left_handed else (right, left)

    def steps(view: View) -> Iterator[Together]:
        # A process that cannot take part refuses, so the view need not be read.
        for name, (first, second) in hands.items():
            for action, fork in (("take the first fork", first), ("take the second fork", second)):
                yield Together(f"{name}: {action}", {name: action, fork: action})
            action = "put both down"
            yield Together(f"{name}: {action}", {name: action, first: action, second: action})

    return World(
        name="dining-philosophers",
        members={name: partial(Philosopher, *two) for name, two in hands.items()}
        | dict.fromkeys(forks, Fork),
        together=steps,
        properties=[
            always_pair("a fork is in one hand", lambda a, b: not a & b, among=people),
            no_deadlock("a process can go on"),
            sometimes_one("a philosopher eats", eats, among=people),
            eventually(
                "some day a philosopher eats", lambda view: any(eats(view[p]) for p in people)
            ),
            always_possible("the first one can eat again", lambda view: eats(view[people[0]])),
        ],
        about="philosophers take one fork after the other",
    )
