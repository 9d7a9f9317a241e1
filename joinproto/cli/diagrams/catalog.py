"""The list of drawings: one line for each state machine and each decision table.

To draw another set of rules, add its machine to `drawings` and its tables to `tables`.
"""

from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar

from attrs import frozen

from joinproto.cli.diagrams.graph import Graph, graph_of_machine, graph_of_stores
from joinproto.cli.diagrams.svg import graph_as_svg, table_as_svg
from joinproto.clusterer import tables as clusterer
from joinproto.clusterer.status import MACHINES as CLUSTERER_MACHINES
from joinproto.discovery import boot, cleanup, keep
from joinproto.join.admission import admission
from joinproto.join.awaiting import awaiting
from joinproto.join.phases import standing
from joinproto.join.succession import founding, going_on, reopening
from joinproto.machine.machine import StateMachine
from joinproto.machine.markdown import row_of, table_as_markdown
from joinproto.machine.tables import Table
from joinproto.machine.terms import ALWAYS
from joinproto.reconcile import timers
from joinproto.reconcile.tables import OURS, REAL, SEED
from joinproto.reference.note.machine import note_machine
from joinproto.reference.note.recovery import comparison
from joinproto.reference.note.shutdown import STORE_CHANGES
from joinproto.reference.qpid.machine import qpid_machine
from joinproto.reference.qpid.store_status import STORE_STATUS
from joinproto.standby import tables as standby
from joinproto.standby.roles import MARKED as STANDBY_MARKED

# Mermaid text of a state machine and of a decision table.

O = TypeVar("O", bound=Enum)


def graph_as_mermaid(graph: Graph) -> str:
    """Return a state diagram; a node without edges stands alone in it."""
    lines = ["stateDiagram-v2", f"    [*] --> {_id(graph.nodes[0])}"]
    lines += [f'    state "{node}" as {_id(node)}' for node in graph.nodes if _id(node) != node]
    touched = {name for edge in graph.edges for name in (edge.source, edge.target)}
    lines += [f"    {_id(node)}" for node in graph.nodes if node not in touched]
    lines += [
        # A semicolon ends a statement in Mermaid.
        f"    {_id(edge.source)} --> {_id(edge.target)} : {edge.label.replace(';', ' /')}"
        for edge in graph.edges
    ]
    return "\n".join(lines)


def table_as_mermaid(table: Table[O]) -> str:
    """Return a flow chart that asks one case after the other, from the top."""
    lines = ["flowchart TD"]
    arrow = "    start((start)) -->"
    for at, case in enumerate(table.cases):
        label, name, when, outcome, _ = row_of(case)
        box = f'o{at}["{_text(outcome)}<br/>{label}: {_text(name)}"]'
        if case.condition == ALWAYS:
            lines.append(f"{arrow} {box}")
        else:
            lines.append(f'{arrow} c{at}{{"{label}: {_text(when)}?"}}')
            lines.append(f"    c{at} -->|yes| {box}")
            arrow = f"    c{at} -->|no|"
    return "\n".join(lines)


def _id(name: str) -> str:
    return name.replace(" ", "_").replace("-", "_")


def _text(text: str) -> str:
    return text.replace('"', "#quot;")


FORMATS = ("mermaid", "svg", "markdown")


@frozen
class Drawing:
    """A drawing.  `kind`: machine or table.  `formats`: functions that return its text."""

    kind: str
    about: str
    formats: dict[str, Callable[[], str]]

    def as_text(self, form: str) -> str:
        """Return the drawing in one of `FORMATS`."""
        return self.formats[form]()


def drawings() -> dict[str, Drawing]:
    """Return every drawing by its name."""
    machines: dict[str, tuple[str, StateMachine[Any]]] = {
        "note": ("a member under the note's rules", note_machine()),
        "qpid": ("a member under Qpid's rules", qpid_machine()),
        **{
            machine.name: (f"a node of the Clusterer, release {release.value}", machine)
            for release, machine in CLUSTERER_MACHINES.items()
        },
        "reconcile-clock": ("when a queue is looked at", timers.CLOCK),
    }
    found = {
        name: machine_drawing(about, partial(graph_of_machine, machine))
        for name, (about, machine) in machines.items()
    }
    stores = partial(graph_of_stores, "note-store", STORE_CHANGES)
    found["note-store"] = machine_drawing("the life of a store under the note's rules", stores)
    about = "a member as it ships, with the arrows that searches meet"
    found["join"] = machine_drawing(about, cache(_join))
    return found | {table.name: table_drawing(table) for table in tables()}


JOIN_WORLDS = ("join-two", "join-source-lost", "join-apart", "join-newcomer-options")
"""Worlds in which, taken together, a member is in each of its phases."""


def _join() -> Graph:
    """Return the graph of a member as it ships.

    A member's next phase follows from its knowledge alone, so its table has no arrows.  The graph
    has the arrows that searches meet.
    """
    from joinproto.check.catalogue import load_world  # most drawings need no search
    from joinproto.cli.diagrams.observed import observe

    worlds = map(load_world, JOIN_WORLDS)
    return observe(worlds, by="phase", states_max=5_000).graph(with_counts=False)


def tables() -> list[Table[Any]]:
    """Return every table that can be drawn."""
    return [
        *_tables_of(note_machine()),
        comparison(),
        *_tables_of(qpid_machine()),
        STORE_STATUS,
        standing(),
        founding(),
        reopening(),
        going_on(),
        admission(),
        awaiting(),
        SEED,
        REAL,
        OURS,
        *_tables_of(timers.CLOCK),
        *standby.TABLES.values(),
        STANDBY_MARKED,
        *boot.TABLES.values(),
        *cleanup.TABLES.values(),
        *keep.TABLES.values(),
        *clusterer.TABLES,
        *dict.fromkeys(
            table for machine in CLUSTERER_MACHINES.values() for table in _tables_of(machine)
        ),
    ]


def _tables_of(machine: StateMachine[Any]) -> list[Table[Any]]:
    return list(dict.fromkeys(arrow.table for arrow in machine.arrows))


def machine_drawing(about: str, graph: Callable[[], Graph]) -> Drawing:
    """Return the drawing of a machine, in every format."""
    return Drawing(
        "machine",
        about,
        {
            "mermaid": lambda: graph_as_mermaid(graph()),
            "svg": lambda: graph_as_svg(graph()),
            "markdown": lambda: f"```mermaid\n{graph_as_mermaid(graph())}\n```",
        },
    )


def table_drawing(table: Table[Any]) -> Drawing:
    return Drawing(
        "table",
        table.source,
        {
            "mermaid": lambda: table_as_mermaid(table),
            "svg": lambda: table_as_svg(table),
            "markdown": lambda: table_as_markdown(table),
        },
    )
