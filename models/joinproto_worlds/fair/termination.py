"""Detecting that all nodes of a ring have come to rest.

Source: Dijkstra, Feijen and van Gasteren, "Derivation of a termination detection algorithm for
distributed computations" (EWD 840).  A token goes down the ring.  It turns black at a node that has
woken a higher node since the token was last there, and the first node sends it again until it comes
back white.  At the beginning any nodes are awake, nodes have any colour, and a black token is
anywhere.

Fairness forces only the token to go on: nodes may stay awake and need not wake others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from joinproto.check.beginnings import any_of
from joinproto.check.fairness import weak
from joinproto.check.properties import always, leads_to, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto_worlds.fair.cell import Cell, becomes

ASKS, GOES_ON = "the first node asks", "the token goes on"


def build(members: int = 3, mutant: str | None = None, *, fair: bool = True) -> World:
    """Return the world of 2 to 5 nodes.  A node is a pair (awake, black), the token is (place,
    black); `fair`: the token must go on.
    """
    names = [f"n{i}" for i in range(members)]

    def steps(view: View) -> Iterator[Together]:
        place, token_black = view["token"]
        awake, black = view[names[place]]
        if place == 0 and (token_black or black):
            first = becomes((awake, False))
            yield Together(ASKS, {"n0": first, "token": becomes((members - 1, False))})
        if place > 0 and (not awake or black or token_black):
            left = becomes((awake, False))
            gone = becomes((place - 1, token_black or black))
            yield Together(GOES_ON, {names[place]: left, "token": gone})
        for i, name in enumerate(names):
            awake, black = view[name]
            if awake:
                rests = becomes((False, black))
                yield Together(f"{name} rests", {name: rests}, fair=False)
                for j, other in enumerate(names):
                    if j != i:
                        yield wakes(view, i, j, other)

    def wakes(view: View, i: int, j: int, other: str) -> Together:
        turns_black = j > i and mutant != "stays-white"
        here = becomes((True, view[names[i]][1] or turns_black))
        there = becomes((True, view[other][1]))
        return Together(f"{names[i]} wakes {other}", {names[i]: here, other: there}, fair=False)

    def all_rest(view: View) -> bool:
        return not any(view[name][0] for name in names)

    def is_announced(view: View) -> bool:
        return bool(view["token"] == (0, False) and view["n0"] == (False, False))

    any_node: dict[str, Any] = {"value": [(a, b) for a in (False, True) for b in (False, True)]}
    anywhere = {"value": [(place, True) for place in range(members)]}
    return World(
        name="termination",
        members={**{name: partial(Cell, (False, False)) for name in names}, "token": token_cell},
        beside=["token"],
        beginnings=any_of({**dict.fromkeys(names, any_node), "token": anywhere}),
        together=steps,
        # If one of the token's two steps stays possible, one of them is taken in the end.
        fairness=[weak(ASKS, GOES_ON, of="token")] if fair else [],
        properties=[
            always("what is told is so", lambda view: not is_announced(view) or all_rest(view)),
            leads_to("rest is told", all_rest, is_announced),
            sometimes("it is told", is_announced),
        ],
        about="a token finds out that all nodes of a ring have come to rest",
    )


def token_cell() -> Cell:
    return Cell((0, True))
