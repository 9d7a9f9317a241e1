"""The vocabulary in which incidents are written: nodes, their events, and the claims.

A node is a name and some fields: the contents of its disk and its present activity.  `steps(view)`
of an incident yields the possible next steps: `does(...)` for steps of the software or the
operator, and `fault(...)` for unwanted events, each at most as often as the incident's `faults`
say.  A disk that comes back blank, old or half filled is a fault that sets fields of a node.

These fields have one meaning everywhere: `up`, the node runs; `serves`, it lets clients write;
`cluster`, the cluster in which it believes to be, "" or 0 for none; `data`, how many of the writes
promised to clients are on its disk, from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import Factory, evolve, frozen

from joinproto.check.events import NOT_ENABLED, plain
from joinproto.check.injected import FAULTS, budgeted, spending
from joinproto.check.properties import Property, always, always_possible, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World

Fields = Mapping[str, Any]
UP: Fields = {"up": True, "serves": True}
DOWN: Fields = {"up": False, "serves": False}


@frozen
class NewValues:
    """The effect of a step on a node: the new values of some fields."""

    fields: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {plain(value)}" for name, value in self.fields)


class Node:
    """A node: its fields are its attributes."""

    def __init__(self, fields: Fields) -> None:
        vars(self).update(fields)

    def receive(self, event: Any) -> Any:
        if not isinstance(event, NewValues):
            return NOT_ENABLED
        vars(self).update(event.fields)
        return None


@frozen(kw_only=True)
class Incident:
    """An incident.  `nodes`: each node's fields.  `faults`: how often each fault may happen."""

    nodes: Mapping[str, Fields]
    steps: Callable[[View], Iterable[Together]]
    claims: Sequence[Property]
    faults: Mapping[str, int] = Factory(dict)

    def world(self, name: str) -> World:
        """Return the world of this incident."""

        def steps(view: View) -> Iterator[Together]:
            for step in self.steps(view):
                yield spending(step) if step.fault else step

        world = World(
            name=name,
            members={name: partial(Node, fields) for name, fields in self.nodes.items()},
            together=steps,
            properties=list(self.claims),
        )
        return budgeted(world, self.faults) if self.faults else world


def does(action: str, **nodes: Fields) -> Together:
    """Return a step that sets these fields of the nodes with these names."""
    events = {name: NewValues(tuple(fields.items())) for name, fields in nodes.items()}
    return Together(action, events)


def fault(action: str, **nodes: Fields) -> Together:
    """Return a step as `does` does, but a fault, which `Incident.faults` limits."""
    return evolve(does(action, **nodes), fair=False, fault=True)


def nodes_of(view: View) -> dict[str, Any]:
    """Return the nodes by name, without the member that holds the budgets."""
    return {name: shown for name, shown in view.items() if name != FAULTS}


def nodes_with(view: View, **fields: Any) -> dict[str, Any]:
    """Return the nodes that have all of these fields, with these values."""
    return {
        name: node
        for name, node in nodes_of(view).items()
        if all(getattr(node, key, None) == value for key, value in fields.items())
    }


def spread(view: View, source: str, *, to: Iterable[str]) -> Iterator[Together]:
    """Yield the steps that overwrite the `data` of other nodes with those of `source`."""
    data = view[source].data
    for name in to:
        if name != source and view[name].data != data:
            yield does(f"{name} is overwritten with the data of {source}", **{name: {"data": data}})


# -- claims ------------------------------------------------------------------------------------


def kept(newest: int) -> Property:
    """Return the claim that some disk always holds all `newest` writes promised to clients."""
    name = "what was acknowledged is on a disk"
    return always(name, lambda view: any(it.data == newest for it in _having(view, "data")))


def not_blank() -> Property:
    """Return the claim that no node serves without data."""
    return always(
        "no node serves an empty store",
        lambda view: all(it.data for it in _having(view, "serves") if it.serves),
    )


def one_cluster() -> Property:
    """Return the claim that all nodes that serve are in one cluster."""
    return always("one cluster serves", lambda view: len(clusters(view)) <= 1)


def can_serve() -> Property:
    """Return the claim that a node can always serve again; without this a rule is a dead end."""
    return always_possible("one cluster can serve again", lambda view: bool(serving(view)))


def all_serve(count: int | None = None) -> Property:
    """Return the claim that in some run all nodes, or at least `count`, serve at a time."""
    return sometimes(
        "nodes serve" if count else "all nodes serve",
        lambda view: len(serving(view)) >= (count or len(_having(view, "serves"))),
    )


def serving(view: View) -> list[str]:
    """Return the names of nodes that run and serve."""
    return [
        name
        for name, it in nodes_of(view).items()
        if getattr(it, "up", True) and getattr(it, "serves", False)
    ]


def clusters(view: View) -> set[Any]:
    """Return the clusters of the nodes that serve."""
    return {getattr(view[name], "cluster", "") for name in serving(view)}


def _having(view: View, field: str) -> list[Any]:
    return [it for it in nodes_of(view).values() if hasattr(it, field)]
