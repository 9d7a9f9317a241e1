"""The worlds of the Clusterer: a scene, the rules of a variant, and maybe a rule left out."""

from __future__ import annotations

from functools import partial

from joinproto.check.world import World
from joinproto_worlds.clusterer.claims import claims
from joinproto_worlds.clusterer.played import Played


def build(
    members: int = 1, mutant: str | None = None, *, scene: str = "form", variant: str = "ours"
) -> World:
    """`members`: the simulation is one; the scene says how many nodes there are."""
    return World(
        name=f"clusterer-{scene}",
        members={"story": partial(Played, scene, variant, mutant)},
        properties=list(claims(scene, variant)),
        about="a story in every order of what may happen",
    )
