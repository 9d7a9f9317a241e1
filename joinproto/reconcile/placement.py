"""The placement of a new replica: functions that choose its node.

An embedder may pass another function of this type.

Source: reconciliation, Q3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from joinproto.reconcile.queue import Node, Placing, Situation, Variant


@frozen
class Choice:
    """The chosen node, and the reason."""

    node: str
    why: str


Placement: TypeAlias = "Callable[[tuple[Node, ...], Situation], Choice]"
"""A function that returns one of the candidates; there is at least one, in the order of names."""


def random(candidates: tuple[Node, ...], situation: Situation) -> Choice:
    """Return the candidate that the situation's `dice` select."""
    node = candidates[situation.dice % len(candidates)]
    return Choice(node.name, f"{node.name} is one of {len(candidates)} candidates, taken at random")


def least_loaded(candidates: tuple[Node, ...], _situation: Situation) -> Choice:
    """Return the node with the least load; of several, the first by name."""
    node = min(candidates, key=lambda one: (one.load, one.name))
    return Choice(node.name, f"{node.name} has the least load, {node.load:g}")


def zone_aware(candidates: tuple[Node, ...], situation: Situation) -> Choice:
    """Return the least loaded node of the zone with the fewest running replicas."""
    zones = {node.name: node.zone for node in situation.nodes}
    there = Counter(zones[name] for name in situation.members if situation.runs(name))
    node = min(candidates, key=lambda one: (there[one.zone], one.load, one.name))
    if node.zone is None:
        return Choice(node.name, f"{node.name} has no zone, and has the least load, {node.load:g}")
    count = there[node.zone]
    others = "no replica runs" if count == 0 else f"{count} run" + "s" * (count == 1)
    return Choice(
        node.name, f"{node.name} is in zone {node.zone}, where {others}; its load is {node.load:g}"
    )


PLACEMENTS: dict[Placing, Placement] = {
    Placing.RANDOM: random,
    Placing.LEAST_LOADED: least_loaded,
    Placing.ZONE_AWARE: zone_aware,
}


def placement_of(situation: Situation) -> Placement:
    """Return the function that chooses a node; the shipped broker only chooses at random."""
    if situation.variant is Variant.REAL:
        return random
    return PLACEMENTS[situation.settings.placement]
