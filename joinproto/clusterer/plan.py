"""The effect of a new config on a cluster that has reached the current config.

The change is played as a story, in many orders.  The plan has the worst outcome for each node.  All
decisions about the nodes are the simulated nodes' own.

Source: Clusterer, U3 to U7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.clusterer.config import Age, Config, compare
from joinproto.clusterer.plan_start import Now, Up, formed
from joinproto.clusterer.reading import Release
from joinproto.clusterer.reporting import NodeTold, StepTold, told
from joinproto.clusterer.simulator import Choose
from joinproto.clusterer.story import Action, Op
from joinproto.clusterer.variants import Variant
from joinproto.clusterer.writing import as_json
from joinproto.codec.json_form import Count
from joinproto.machine.values import evolve

UNTOLD = "no node that hears of the config is in it: give the config to a node that it names"


class Effect(Enum):
    """The effect of the new config on a node."""

    STAYS = "stays"  # its broker runs on
    RESTARTS = "restarts"  # its broker is stopped, and boots again
    JOINS = "joins"  # it was not in the current config, and is ready in the new one
    LEAVES = "leaves"  # the new config does not name it
    WAITS = "waits"  # it is not ready in the end
    AWAY = "is away"  # it is off, and hears of the config when it is back
    UNTOLD = "is not told"  # it is named, but no node that hears of the config stays to tell it


EFFECTS = (
    *(Effect.AWAY, Effect.STAYS, Effect.JOINS, Effect.RESTARTS),
    *(Effect.LEAVES, Effect.UNTOLD, Effect.WAITS),
)
"""All effects, the best first and the worst last."""


@frozen(kw_only=True)
class PlannedNode:
    """The effect of a new config on one node."""

    name: Annotated[str, "the name of the node"]
    does: Annotated[Effect, "the effect of the new config on the node"]
    wiped: Annotated[bool, "whether the data that it has now are lost"]
    at_risk: Annotated[
        bool, "whether it waits to join, and the data that it has now may be lost when it joins"
    ]
    waits_for: Annotated[tuple[str, ...], "the nodes that it needs before it can go on"]
    why: Annotated[str, "the reason, in a sentence"]
    orders: Annotated[
        Count, "the number of orders with this outcome, the worst; all others end better"
    ]


@frozen(kw_only=True)
class Plan:
    """`clusterer plan --json`: the effect of a new config on each node."""

    result: Annotated[Age, "how the new config compares with the current one"]
    applied_at: Annotated[str | None, "the node that is given the config; null: no node is up"]
    reply: Annotated[str | None, "the answer of that node; null: no node is up"]
    nodes: Annotated[tuple[PlannedNode, ...], "the nodes of both configs, by name"]
    wiped: Annotated[tuple[str, ...], "the nodes whose data are lost, at least in some orders"]
    orders: Annotated[Count, "the number of orders that were tried"]
    rule: Annotated[str, "the rule that decided"]


def plan(
    current: Config,
    new: Config,
    statuses: Mapping[str, Up],
    *,
    release: Release = Release.SEED,
    variant: Variant = Variant.OURS,
    at: str | None = None,
    now: Now | None = None,
    chances: Iterable[Choose] = (),
) -> Plan:
    """Return the effect of a new config on each node.

    `statuses`: the statuses of nodes that are not ready.  A node that only the new config names,
    and that is ready, runs by itself, with its own data unless it is `Up.BLANK`.  `at`: the node
    that is given the config; None: a node that is up.  `now`: the nodes as they are; None: as they
    would be after the current config.  `chances`: other orders to try.
    """
    names = sorted(current.nodes | new.nodes)
    now = now or formed(current, new, statuses, release, variant)
    ready = [one.name for one in now.machines if one.is_up]
    blank = {name for name, up in statuses.items() if up is Up.BLANK and name not in current.nodes}
    if at is None:
        at = next((name for name in ready if name in current.nodes), next(iter(ready), None))
    tried, reply = [], None
    for choose in (None, *chances):
        sim = now.sim(choose)
        sim.play(() if at is None else (Action(op=Op.APPLY, node=at, config=as_json(new)),))
        found = told(sim)
        reply = reply or found.replies.get(at or "")
        tried.append(
            {name: _planned(name, found, current, new, ready, blank, sim.events) for name in names}
        )
    nodes = tuple(worst([one[name] for one in tried]) for name in names)
    return Plan(
        result=compare(new, current),
        applied_at=at,
        reply=reply,
        nodes=nodes,
        wiped=tuple(one.name for one in nodes if one.wiped),
        orders=len(tried),
        rule="U3",
    )


def worst(tried: list[PlannedNode]) -> PlannedNode:
    """Return the worst outcome for a node, with the number of orders that lead to it."""
    worst = max(tried, key=lambda one: (one.wiped, EFFECTS.index(one.does)))
    same = sum((one.wiped, one.does) == (worst.wiped, worst.does) for one in tried)
    return evolve(worst, orders=same)


def _planned(
    name: str,
    found: StepTold,
    current: Config,
    new: Config,
    ready: list[str],
    blank: set[str],
    events: list[str],
) -> PlannedNode:
    node = found.nodes[name]
    does = _effect(name, node, current, new, ready, events)
    return PlannedNode(
        name=name,
        does=does,
        wiped=name in found.wiped and name not in blank,
        at_risk=does is Effect.WAITS and node.state == "joining" and node.data is not None,
        waits_for=node.waits_for,
        why=UNTOLD if does is Effect.UNTOLD else node.why,
        orders=1,
    )


def _effect(
    name: str, node: NodeTold, current: Config, new: Config, ready: list[str], events: list[str]
) -> Effect:
    if name not in ready:
        return Effect.AWAY
    if node.state in ("pending", "off"):
        return Effect.LEAVES
    if node.state != "ready":
        return Effect.WAITS
    if name in new.nodes and (node.version or 0) < new.version:
        return Effect.UNTOLD
    if name not in current.nodes:
        return Effect.JOINS if node.version == new.version else Effect.STAYS
    restarts = any(event.startswith(f"{name}: booting") for event in events)
    return Effect.RESTARTS if restarts else Effect.STAYS
