"""What can be drawn: one line per state machine and per decision table.

Another set of rules adds its machine and its tables to `drawings`, and nothing else.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from joinproto.cli.diagrams.graph import Graph, graph_of_machine, graph_of_settling, graph_of_stores
from joinproto.cli.diagrams.mermaid import graph_as_mermaid, table_as_mermaid
from joinproto.cli.diagrams.svg import graph_as_svg, table_as_svg
from joinproto.clusterer import tables as clusterer
from joinproto.clusterer.status import MACHINES as CLUSTERER_MACHINES
from joinproto.discovery import boot, cleanup, keep
from joinproto.join.admission import admission
from joinproto.join.awaiting import awaiting
from joinproto.join.phases import machine as chain_machine
from joinproto.join.phases import standing
from joinproto.join.succession import founding, going_on, reopening
from joinproto.machine.machine import StateMachine
from joinproto.machine.markdown import table_as_markdown
from joinproto.machine.tables import Table
from joinproto.reconcile import timers
from joinproto.reconcile.tables import OURS, REAL, SEED
from joinproto.reference.note.machine import note_machine
from joinproto.reference.note.recovery import comparison
from joinproto.reference.note.shutdown import STORE_CHANGES
from joinproto.reference.qpid.machine import qpid_machine
from joinproto.reference.qpid.store_status import STORE_STATUS
from joinproto.standby import tables as standby

FORMATS = ("mermaid", "svg", "markdown")


@frozen
class Drawing:
    """`kind`: machine or table.  `formats`: how to write it, by name of the format."""

    kind: str
    about: str
    formats: dict[str, Callable[[], str]]

    def as_text(self, form: str) -> str:
        """Return the drawing in one of `FORMATS`."""
        return self.formats[form]()


def drawings() -> dict[str, Drawing]:
    """Return every drawing by its name."""
    found = {
        "note": _machine("a member under the note's rules", graph_of_machine(note_machine())),
        "note-store": _machine(
            "the life of a store under the note's rules",
            graph_of_stores("note-store", STORE_CHANGES),
        ),
        "qpid": _machine("a member under Qpid's rules", graph_of_machine(qpid_machine())),
        "chain": _machine(
            "a member as it ships", graph_of_settling(chain_machine(), "any running phase")
        ),
        **{
            machine.name: _machine(
                f"a node of the Clusterer, release {release.value}", graph_of_machine(machine)
            )
            for release, machine in CLUSTERER_MACHINES.items()
        },
        "reconcile-clock": _machine("when a queue is looked at", graph_of_machine(timers.CLOCK)),
    }
    return found | {table.name: _table(table) for table in tables()}


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


def _machine(about: str, graph: Graph) -> Drawing:
    return Drawing(
        "machine",
        about,
        {
            "mermaid": lambda: graph_as_mermaid(graph),
            "svg": lambda: graph_as_svg(graph),
            "markdown": lambda: f"```mermaid\n{graph_as_mermaid(graph)}\n```",
        },
    )


def _table(table: Table[Any]) -> Drawing:
    return Drawing(
        "table",
        table.source,
        {
            "mermaid": lambda: table_as_mermaid(table),
            "svg": lambda: table_as_svg(table),
            "markdown": lambda: table_as_markdown(table),
        },
    )
