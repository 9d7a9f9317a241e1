"""The linked worlds, whose steps of the code are compared with the layers."""

from __future__ import annotations

from joinproto.check.catalogue import entry
from joinproto.errors import UsageProblem
from joinproto.prove.link.run import Linked
from joinproto_claims.mappings.chain import ChainMapping
from joinproto_claims.mappings.clusterer import ClustererMapping, load_whole
from joinproto_claims.mappings.reconcile import ReconcileMapping
from joinproto_claims.mappings.register import RegisterMapping
from joinproto_claims.mappings.serving import ServingMapping
from joinproto_claims.mappings.standby import StandbyMapping

_REGISTER = frozenset({"register"})
_JOIN = frozenset({"chain", "serving"})
_RECONCILE = frozenset({"reconcile"})
_STANDBY = frozenset({"standby"})
_CLUSTERER = frozenset({"clusterer"})

SCENES = (
    *("order", "gospel", "form", "join", "rejoin", "locks", "leave", "spread"),
    *("hole-1", "hole-2", "hole-3", "hole-4", "hole-6", "hole-7-again"),
    *("hole-6-stranger", "hole-10", "splits", "conflict", "late-word", "late-word-join"),
    *("newcomers", "left-out-starts", "late-lock"),
    *("order-of-locks", "hole-12", "hole-8", "hole-5"),
)
"""Scenes of the Clusterer.  Each is searched completely; the last two have most of the steps."""

WORLDS: tuple[Linked, ...] = (
    Linked("chain-register", (RegisterMapping.of,), _REGISTER, near=50_000, far=0),
    # A second acceptance needs many steps, which only random walks reach.
    Linked("chain-register-tie", (RegisterMapping.of,), _REGISTER, near=0, far=8_000),
    Linked("join-two", (ChainMapping, ServingMapping), _JOIN, near=50_000, far=12_000),
    Linked("join-votes", (ChainMapping, ServingMapping), _JOIN, near=5_000, far=6_000),
    Linked("reconcile-one", (ReconcileMapping,), _RECONCILE, near=4_000, far=0),
    Linked("reconcile-repair", (ReconcileMapping,), _RECONCILE, near=1_600, far=0),
    Linked("reconcile-by-hand", (ReconcileMapping,), _RECONCILE, near=3_000, far=0),
    *(
        Linked(
            f"clusterer-{name}",
            (ClustererMapping,),
            _CLUSTERER,
            near=50_000,
            far=0,
            load=load_whole,
        )
        for name in SCENES
    ),
    Linked("standby-start-built-in", (StandbyMapping,), _STANDBY, near=300, far=0),
    Linked("standby-dropped-built-in", (StandbyMapping,), _STANDBY, near=5_000, far=0),
    Linked("standby-cut-off", (StandbyMapping,), _STANDBY, near=6_000, far=0),
    Linked("standby-two-promoted", (StandbyMapping,), _STANDBY, near=6_000, far=0),
    Linked("standby-old-serves", (StandbyMapping,), _STANDBY, near=3_000, far=0),
)
"""Together they have at least 100,000 distinct steps."""


def worlds(layers: frozenset[str], mutant: str | None) -> tuple[Linked, ...]:
    """Return the worlds that are linked to these layers, and have the mutant if one is given."""
    found = tuple(one for one in WORLDS if one.layers & layers)
    if mutant is None:
        return found
    able = tuple(one for one in found if mutant in entry(one.world).mutants)
    if not able:
        known = sorted({name for one in found for name in entry(one.world).mutants})
        raise UsageProblem(
            f"no linked world has the mutant {mutant!r}",
            next=f"use one of {', '.join(known)}",
        )
    return able
