"""The worlds of the Clusterer: a scene under the rules of a variant, perhaps without one rule.

`build` is not in `entries.py`, because every list of worlds imports that file, and `build` needs
the Clusterer.
"""

from __future__ import annotations

from functools import partial

from joinproto.check.world import World
from joinproto_worlds.clusterer.claims import claims
from joinproto_worlds.clusterer.played import RunningScene


def build(
    members: int = 1,
    mutant: str | None = None,
    *,
    scene: str = "form",
    variant: str = "ours",
    kills: int = 0,
    delivers: bool = False,
    tears: bool = False,
    losses: int = 0,
) -> World:
    """Return the world of a scene.

    `members`: always 1, the simulation; the scene says how many nodes there are.  `kills`,
    `delivers`, `losses`: see `RunningScene`; `tears`: its `tears_too`.
    """
    fault = "-power" if tears else "-killed" if kills else "-half-open" if losses else ""
    return World(
        name=f"clusterer-{scene}{fault}",
        members={
            "story": partial(
                RunningScene.of,
                scene,
                variant,
                mutant,
                kills,
                delivers=delivers,
                tears=tears,
                losses=losses,
            )
        },
        properties=list(claims(scene, variant)),
        about="a story in every order of what may happen",
    )
