"""Mermaid text of a state machine and of a decision table."""

from enum import Enum
from typing import TypeVar

from joinproto.cli.diagrams.graph import Graph
from joinproto.machine.markdown import row_of
from joinproto.machine.tables import Table
from joinproto.machine.terms import ALWAYS

O = TypeVar("O", bound=Enum)


def graph_as_mermaid(graph: Graph) -> str:
    """Return a state diagram; a node that no edge touches stands alone."""
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
    came_by = "    start((start)) -->"
    for at, case in enumerate(table.cases):
        label, name, when, outcome, _ = row_of(case)
        box = f'o{at}["{_text(outcome)}<br/>{label}: {_text(name)}"]'
        if case.condition == ALWAYS:
            lines.append(f"{came_by} {box}")
        else:
            lines.append(f'{came_by} c{at}{{"{label}: {_text(when)}?"}}')
            lines.append(f"    c{at} -->|yes| {box}")
            came_by = f"    c{at} -->|no|"
    return "\n".join(lines)


def _id(name: str) -> str:
    return name.replace(" ", "_").replace("-", "_")


def _text(text: str) -> str:
    return text.replace('"', "#quot;")
