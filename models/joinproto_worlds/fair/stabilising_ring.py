"""A ring that gets from any state to the states with one privilege, and stays there.

Source: Dijkstra, "Self-stabilizing systems in spite of distributed control", the first solution.
Each of N machines holds a number below K.  The first machine has the privilege if the last machine
holds the same number, and then adds one to its number.  Any other machine has the privilege if the
machine before it holds a different number, and then takes that number.  With one step at a time
K >= N - 1 is enough, and the only fairness that is needed is that some step is taken.

Runs begin in all K^N states, and there are no others.  The first machine has the privilege in
K^(N-1) of them, and each other machine in (K - 1) K^(N-1); the sum is the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from joinproto.check.beginnings import any_of
from joinproto.check.fairness import Fair, weak
from joinproto.check.properties import (
    eventually,
    eventually_always,
    infinitely_often,
    no_deadlock,
)
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto_worlds.fair.cell import Cell, becomes


def build(members: int = 4, *, numbers: int | None = None, fair: bool = True) -> World:
    """Return the world of 2 to 7 machines; `numbers`: K, by default N - 1, but at least 2."""
    names = [f"m{i}" for i in range(1, members + 1)]
    k = max(2, members - 1) if numbers is None else numbers

    def privileges(view: View) -> Iterator[tuple[str, int]]:
        """Yield each machine that has the privilege, with its next number."""
        held = [view[name] for name in names]
        if held[0] == held[-1]:
            yield names[0], (held[0] + 1) % k
        for i in range(1, members):
            if held[i] != held[i - 1]:
                yield names[i], held[i - 1]

    def steps(view: View) -> Iterator[Together]:
        for name, number in privileges(view):
            yield Together(f"{name} moves", {name: becomes(number)})

    def is_one(view: View) -> bool:
        return len(list(privileges(view))) == 1

    # Some machine must take a step, no matter which.
    fairness: list[Fair] = [weak(which=lambda member, event: True)] if fair else []
    return World(
        name="stabilising-ring",
        members={name: partial(Cell, 0) for name in names},
        beginnings=any_of({name: {"value": range(k)} for name in names}),
        together=steps,
        fairness=fairness,
        properties=[
            eventually("some day one has the privilege", is_one),
            eventually_always("from some day on just one", is_one),
            infinitely_often(
                "the first has it again and again",
                lambda view: names[0] in dict(privileges(view)),
            ),
            no_deadlock("a process has it"),
        ],
        about="a ring comes from any state to one privilege",
    )
