"""SVG of a state machine and of a decision table; no library, no script, no font file.

A machine is drawn like a wiring board: the nodes are in one column, and each edge has its own
plug on the right side of both nodes and a lane between the plugs.  Lines may cross, but no text
lies on another text, however many edges there are.
"""

from collections.abc import Sequence
from enum import Enum
from html import escape
from textwrap import wrap
from typing import TypeVar

from joinproto.cli.diagrams.graph import Edge, Graph
from joinproto.machine.markdown import COLUMNS, row_of
from joinproto.machine.tables import Table

O = TypeVar("O", bound=Enum)

# All lengths are in pixels of the drawing.
CHARACTER = 6.7  # width of one character of the 11 pixel monospace text
PLUG = 20  # distance of two plugs of a node
LANE = 11
NODE_WIDTH = 112
GAP = 22
MARGIN = 24
TITLE = 34
LINE = 16
# One colour for each target, so that a reader can follow a line; colour-blind readers as well.
COLOURS = ("#0072b2", "#b34700", "#00795a", "#a3437f", "#6a5acd", "#7a6000", "#333333")
# Widest column of a table in characters: rule, case, when, outcome, then.
COLUMN_CHARACTERS = (8, 30, 44, 24, 44)


def graph_as_svg(graph: Graph) -> str:
    """Return the state machine as one SVG document."""
    plugs = _plugs(graph)
    tops = _tops(graph, plugs)
    plug_y = {
        plug: tops[node] + PLUG * (at + 0.9)
        for node in graph.nodes
        for at, plug in enumerate(plugs[node])
    }
    spans = [(plug_y[edge, "out"], plug_y[edge, "in"]) for edge in graph.edges]
    lanes = _lanes(spans)
    right = MARGIN + NODE_WIDTH
    first_lane = right + max([len(edge.label) for edge in graph.edges], default=0) * CHARACTER + 24
    colour = {node: COLOURS[at % len(COLOURS)] for at, node in enumerate(graph.nodes)}
    body = []
    for edge, lane, (start, end) in zip(graph.edges, lanes, spans, strict=True):
        x = first_lane + lane * LANE
        body.append(
            f'<path d="M{right} {start:.1f}H{x:.1f}V{end:.1f}H{right + 7}"'
            f' fill="none" stroke="{colour[edge.target]}"/>'
            f'<path d="M{right} {end:.1f}l8 -4v8z" fill="{colour[edge.target]}"/>'
            + _text(right + 12, start - 4, edge.label, fill=colour[edge.target])
        )
    for node in graph.nodes:
        height = _height(plugs[node])
        body.append(
            f'<rect x="{MARGIN}" y="{tops[node]:.1f}" width="{NODE_WIDTH}" height="{height:.1f}"'
            f' rx="6" fill="#f4f6f8" stroke="{colour[node]}" stroke-width="1.5"/>'
            + _text(MARGIN + 10, tops[node] + height / 2 + 4, node, weight="bold")
        )
    bottom = max(tops[node] + _height(plugs[node]) for node in graph.nodes)
    width = first_lane + (max(lanes, default=0) + 1) * LANE + MARGIN
    return _document(graph.title, width, bottom + MARGIN, body)


def table_as_svg(table: Table[O]) -> str:
    """Return the decision table as one SVG document."""
    rows = [COLUMNS, *(row_of(case) for case in table.cases)]
    cells = [
        [
            wrap(text, width, break_on_hyphens=False) or [""]
            for text, width in zip(row, COLUMN_CHARACTERS, strict=True)
        ]
        for row in rows
    ]
    widths = [
        max(len(line) for row in cells for line in row[at]) * CHARACTER + 20
        for at in range(len(COLUMNS))
    ]
    total = sum(widths)
    body: list[str] = []
    y = float(TITLE)
    for at, row in enumerate(cells):
        height = max(len(lines) for lines in row) * LINE + 10
        fill = "#dde4ea" if at == 0 else "#f4f6f8" if at % 2 else "#ffffff"
        body.append(
            f'<rect x="{MARGIN}" y="{y:.1f}" width="{total:.1f}" height="{height}" fill="{fill}"/>'
        )
        x = float(MARGIN)
        for lines, width in zip(row, widths, strict=True):
            body += [
                _text(x + 10, y + (place + 1) * LINE, line, weight="" if at else "bold")
                for place, line in enumerate(lines)
            ]
            x += width
        y += height
    return _document(table.name, total + 2 * MARGIN, y + MARGIN, body)


def _plugs(graph: Graph) -> dict[str, list[tuple[Edge, str]]]:
    """Return each node's plugs from the top: first of incoming edges, then of outgoing edges."""
    plugs: dict[str, list[tuple[Edge, str]]] = {node: [] for node in graph.nodes}
    for edge in graph.edges:
        plugs[edge.target].append((edge, "in"))
    for edge in graph.edges:
        plugs[edge.source].append((edge, "out"))
    return plugs


def _height(plugs: Sequence[object]) -> float:
    return max(2, len(plugs) + 0.4) * PLUG


def _tops(graph: Graph, plugs: dict[str, list[tuple[Edge, str]]]) -> dict[str, float]:
    tops, y = {}, float(TITLE)
    for node in graph.nodes:
        tops[node] = y
        y += _height(plugs[node]) + GAP
    return tops


def _lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return a lane for each span.  Spans in a lane do not touch; short spans get inner lanes."""
    lanes = [0] * len(spans)
    taken: list[list[tuple[float, float]]] = []
    for at in sorted(range(len(spans)), key=lambda at: abs(spans[at][0] - spans[at][1])):
        low, high = sorted(spans[at])
        free = (
            lane
            for lane, others in enumerate(taken)
            if all(high < start or end < low for start, end in others)
        )
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[at] = lane
    return lanes


def _text(x: float, y: float, text: str, *, fill: str = "#1a1a1a", weight: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{bold}>{escape(text)}</text>'


def _document(title: str, width: float, height: float, body: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img"'
        ' font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">'
    )
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    name = _text(MARGIN, 20, title, weight="bold")
    return "\n".join([head, f"<title>{escape(title)}</title>", background, name, *body, "</svg>"])
