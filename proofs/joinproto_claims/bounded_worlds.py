"""Relations that break a claim with too small an N or without a rule, and one that breaks none."""

from __future__ import annotations

from itertools import combinations

from attrs import evolve

from joinproto.prove.bounded import World
from joinproto.prove.layer import Layer
from joinproto.prove.logic import Relation
from joinproto.prove.structure import Rows
from joinproto_claims import register


def _electors(count: int, enough: int, *, ballots: int) -> dict[Relation, Rows]:
    """Return `count` electors, of which any `enough` are a majority, and the order of `ballots`."""
    seats = [f"seat{at}" for at in range(count)]
    sets = list(combinations(seats, enough))
    return {
        register.elector: frozenset((seat,) for seat in seats),
        register.within: frozenset(
            (seat, f"majority{at}") for at, one in enumerate(sets) for seat in one
        ),
        register.before: frozenset(combinations((f"ballot{at}" for at in range(ballots)), 2)),
    }


def _world(
    name: str, about: str, layer: Layer, count: int, enough: int, steps: int | None
) -> World:
    return World(
        name,
        about,
        layer,
        "one_successor",
        sizes={
            register.SEAT: count,
            register.BALLOT: 2,
            register.VIEW: 2,
            register.MAJORITY: len(list(combinations(range(count), enough))),
        },
        given=_electors(count, enough, ballots=2),
        steps=steps,
        values={"owner of ballot0": "seat0", "owner of ballot1": "seat1"},
    )


def _forgetful_layer() -> Layer:
    layer = register.LAYER
    for step in ("promise", "vote"):
        layer = layer.dropping(step, register.NOT_GONE)
    return evolve(layer, name="register, forgetful")


WORLDS: tuple[World, ...] = (
    _world(
        "wait-for below a majority",
        "two members, N = 1: each is enough to choose a view",
        register.LAYER,
        2,
        1,
        steps=6,
    ),
    _world(
        "the forgetful voter",
        "three electors; one loses its disk, and votes again as if it had not voted",
        _forgetful_layer(),
        3,
        2,
        steps=11,
    ),
    _world(
        "as it ships",
        "three electors, nothing left out",
        register.LAYER,
        3,
        2,
        steps=None,
    ),
)
