"""A state machine as nodes and labelled edges, ready to be drawn in any format."""

from collections.abc import Iterable
from enum import Enum
from typing import TypeVar

from attrs import frozen

from joinproto.machine.machine import StateMachine
from joinproto.machine.vocabulary import Store
from joinproto.reference.note.shutdown import StoreChange

P = TypeVar("P", bound=Enum)


@frozen
class Edge:
    """An edge between nodes; `label` names the triggers and the rules that take it."""

    source: str
    target: str
    label: str


@frozen
class Graph:
    """A directed graph.  `nodes`: in the order of a run, from the initial node on."""

    title: str
    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]


def graph_of_machine(machine: StateMachine[P]) -> Graph:
    """Return the graph of a machine: one edge for each pair of phases, with all its rules."""
    found: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for arrow in machine.arrows:
        for phase in arrow.sources:
            for case in arrow.table.cases:
                triggers = found.setdefault((phase.value, case.outcome.value), {})
                triggers.setdefault(arrow.trigger.replace("_", " "), {})[case.label] = None
    used = {name for pair in found for name in pair}
    nodes = tuple(str(phase.value) for phase in machine.phases if phase.value in used)
    edges = (
        Edge(
            source,
            target,
            "; ".join(f"{name} {', '.join(sorted(rules))}" for name, rules in triggers.items()),
        )
        for (source, target), triggers in found.items()
    )
    order = {name: at for at, name in enumerate(nodes)}
    return Graph(
        machine.name,
        nodes,
        tuple(sorted(edges, key=lambda edge: (order[edge.source], order[edge.target]))),
    )


def graph_of_stores(title: str, changes: Iterable[StoreChange]) -> Graph:
    """Return the graph of a store's states, with one edge for each change."""
    edges = tuple(
        Edge(change.before.value, change.after.value, f"{change.label} {change.action.value}")
        for change in changes
    )
    return Graph(title, tuple(store.value for store in Store), edges)
