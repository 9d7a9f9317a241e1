"""What a new config will do to a cluster that has reached the current one.

It is played as a story, and told as a plan: nothing is decided here.

Source: Clusterer, U3 to U7.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.clusterer.config import Age, Config, compare
from joinproto.clusterer.reading import Release
from joinproto.clusterer.sim import Sim
from joinproto.clusterer.story import Deed, Op, Story
from joinproto.clusterer.telling import NodeTold, told
from joinproto.clusterer.variants import Variant
from joinproto.clusterer.writing import as_json

NOBODY_TELLS = "nobody who hears of the config is in it: give it to a node that it names"


class Up(Enum):
    """What a machine is before the new config: as `--status` names it."""

    READY = "ready"
    OFF = "off"
    RESET = "reset"
    BLANK = "blank"  # it runs, and nobody has written anything there: nothing of it can be lost


class Effect(Enum):
    """What the new config does to a node."""

    STAYS = "stays"  # its broker runs on
    RESTARTS = "restarts"  # its broker is stopped, and boots again
    JOINS = "joins"  # it was not in the current config, and is ready in the new one
    LEAVES = "leaves"  # it is left out
    WAITS = "waits"
    AWAY = "is away"  # it is off, and hears of it when it is back
    UNTOLD = "is not told"  # it is named, and nobody who hears of the config stays to tell it


@frozen(kw_only=True)
class PlannedNode:
    """One node."""

    name: Annotated[str, "of the node"]
    does: Annotated[Effect, "what the new config does to it"]
    wiped: Annotated[bool, "the data that it has now are lost"]
    waits_for: Annotated[tuple[str, ...], "whom it needs before it can go on"]
    why: Annotated[str, "the reason, in a sentence"]


@frozen(kw_only=True)
class Plan:
    """`clusterer plan --json`: what a new config does to each node."""

    result: Annotated[Age, "what the new config is beside the current one"]
    applied_at: Annotated[str | None, "to which node it is given; null: none is up"]
    reply: Annotated[str | None, "what that node answers; null: none is up, or it starts with it"]
    nodes: Annotated[tuple[PlannedNode, ...], "of both configs, by name"]
    wiped: Annotated[tuple[str, ...], "whose data are lost"]
    rule: Annotated[str, "the rule that decided"]


def plan(
    current: Config,
    new: Config,
    statuses: Mapping[str, Up],
    *,
    release: Release = Release.SEED,
    variant: Variant = Variant.OURS,
    at: str | None = None,
) -> Plan:
    """Return what a new config does.

    `statuses`: of nodes that are not ready; a node of the new config alone that is ready is by
    itself, with data of its own unless it is said to be blank.  `at`: to which node it is given;
    None: to one that is ready.
    """
    names = sorted(current.nodes | new.nodes)
    sim = Sim(Story(steps=(), nodes=tuple(names), release=release, variant=variant))
    first = min(current.disc, default=None)
    members = sorted(current.nodes)
    sim.play(tuple(_start(name, current if name == first else None) for name in members))
    sim.play(tuple(_start(name) for name in names if name not in current.nodes))
    ups = (Up.READY, Up.BLANK)
    for name in names:
        up = statuses.get(name, Up.READY)
        if up not in ups:
            op = Op.STOP if up is Up.OFF else Op.RESET
            sim.play((Deed(op=op, node=name),))
    ready = [name for name in names if statuses.get(name, Up.READY) in ups]
    blank = {name for name, up in statuses.items() if up is Up.BLANK and name not in current.nodes}
    if at is None:
        at = next((name for name in ready if name in current.nodes), next(iter(ready), None))
    sim.events.clear()
    sim.play(() if at is None else (Deed(op=Op.APPLY, node=at, config=as_json(new)),))
    found = told(sim)
    wiped = tuple(name for name in found.wiped if name not in blank)
    does = {
        name: _effect(name, found.nodes[name], current, new, ready, sim.events) for name in names
    }
    nodes = tuple(
        PlannedNode(
            name=name,
            does=does[name],
            wiped=name in wiped,
            waits_for=found.nodes[name].waits_for,
            why=NOBODY_TELLS if does[name] is Effect.UNTOLD else found.nodes[name].why,
        )
        for name in names
    )
    return Plan(
        result=compare(new, current),
        applied_at=at,
        reply=None if at is None else found.replies.get(at),
        nodes=nodes,
        wiped=wiped,
        rule="U3",
    )


def _start(name: str, given: Config | None = None) -> Deed:
    config: dict[str, Any] | None = None if given is None else as_json(given)
    return Deed(op=Op.START, node=name, config=config)


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
