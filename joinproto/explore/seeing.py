"""Pictures of a search so far: its coverage, its projected graph, and ready questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from joinproto.check.events import plain
from joinproto.check.steps import line_of
from joinproto.check.view import DOWN
from joinproto.errors import UsageProblem
from joinproto.explore.graph import Graph, Json
from joinproto.explore.judging import ClaimJudge
from joinproto.explore.searching import PageSearch
from joinproto.explore.wanted import shown_part, shown_parts

NODES_MAX = 2_000
VALUES_MAX = 8
"""The most values of a listed attribute; an enum may have twice as many."""

SAMPLE = 400
"""The most states that are searched for attributes and their values."""

EDGE_WORDS = 48


def cover(searching: PageSearch) -> Json:
    """Return how often each table row and each step was taken, the rarest first.

    Names and counts are the same as in the coverage of `joinproto check`.
    """
    actions, rows = searching.taken.counts(searching.graph.steps)
    return cover_json(len(searching.order), rows, actions, partial=not searching.whole)


def cover_json(
    states: int, rows: Mapping[str, int], actions: Mapping[str, int], *, partial: bool = False
) -> Json:
    """Return the answer to the question `cover`."""
    found = {"rows": _counted(rows), "actions": _counted(actions)}
    return {"states": states, "partial": partial, **found}


def _counted(counts: Mapping[str, int]) -> list[Json]:
    pairs = sorted(counts.items(), key=lambda one: (one[1], one[0]))
    return [{"name": name, "count": count} for name, count in pairs]


def attributes(graph: Graph, found: Sequence[int]) -> list[str]:
    """Return up to 24 attributes that differ between states: phases, then the fewest values."""
    values: dict[str, set[str]] = {}
    for at in found[:: 1 + len(found) // SAMPLE]:
        for texts in graph.texts(at):
            for name, text in texts.items():
                values.setdefault(name or "down", set()).add(text)
    likely = ("phase", "role", "status", "state", "mode")
    many = [name for name, texts in values.items() if len(texts) > 1 or name in likely]
    return sorted(many, key=lambda name: (name not in likely, len(values[name])))[:24]


def projected(
    graph: Graph, judging: ClaimJudge, searching: PageSearch, by: Sequence[str], nodes_max: int
) -> Json:
    """Return the searched graph with one node for all states that agree in `by`.

    Raises `UsageProblem` for more than `nodes_max` nodes.
    """
    node_of: dict[Any, int] = {}
    nodes: list[Json] = []
    number: dict[int, int] = {}
    for at in searching.order:
        key = tuple(_kept(graph, at, by))
        place = node_of.get(key)
        if place is None:
            if len(nodes) >= nodes_max:
                raise too_many_nodes(nodes_max)
            place = node_of[key] = len(nodes)
            nodes.append(_node(place, at, ", ".join(f"{n} {t}" for n, t in key if t)))
        node = nodes[place]
        node["states"] += 1
        node["first"] |= at in graph.firsts
        node["broken"] |= any(not one for one in _always(judging, at))
        number[at] = place
    examples: dict[tuple[int, int], tuple[int, int]] = {}
    times: Counter[tuple[int, int]] = Counter()
    for place in range(searching.expanded):
        source = searching.order[place]
        begin, end = searching.begins[place], searching.begins[place + 1]
        for index, to in enumerate(searching.edges[begin:end]):
            if to in number:
                pair = number[source], number[to]
                times[pair] += 1
                examples.setdefault(pair, (source, index))
    edges = []
    for (one, other), count in times.items():
        step = graph.step_json(*examples[one, other])
        label = shortened(line_of(step["member"], step["label"]))
        edges.append({"from": one, "to": other, "count": count, "label": label})
    whole = searching.whole
    return {"nodes": nodes, "edges": edges, "states": len(searching.order), "whole": whole}


def _node(place: int, at: int, text: str) -> Json:
    return {"id": place, "text": text, "example": at, "states": 0, "first": False, "broken": False}


def _kept(graph: Graph, at: int, by: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each member's name, and the text of the part of its state that is kept."""
    for name, texts in zip(graph.names, graph.texts(at), strict=True):
        yield name, kept_text(graph, name, texts, by)


def kept_text(graph: Graph, name: str, texts: Mapping[str, str], by: Sequence[str]) -> str:
    """Return the text of the part of one member's local state that `by` keeps."""
    if "" in texts and by and name not in graph.world.beside:
        return "down"
    return " ".join(texts[one] for one in by if one in texts)


def too_many_nodes(nodes_max: int) -> UsageProblem:
    """Return the error for a graph with more than `nodes_max` nodes."""
    return UsageProblem(
        f"this graph has more than {nodes_max:,} nodes, which a person cannot read",
        next="keep fewer attributes of each state, such as one",
    )


def _always(judging: ClaimJudge, at: int) -> Iterator[bool]:
    for item in judging.graph.world.properties:
        if item.kind == "always":
            yield judging.holds(item, at)


def shortened(line: str) -> str:
    """Return the words of a step as the label of an edge."""
    return line if len(line) <= EDGE_WORDS else line[: EDGE_WORDS - 1] + "…"


def questions(graph: Graph, found: Sequence[int]) -> list[Json]:
    """Return ready questions, about claims and about observations.

    Each has `label`, `group`, `short` (its name in the group) and the `arguments` of `nearest`.
    """
    ready = []
    for item in graph.world.properties:
        if item.kind == "always":
            given = {"claim": item.name, "is": False}
            ready.append(_ready("A claim is broken", item.name, f"“{item.name}” is broken", given))
        elif item.kind == "sometimes":
            given = {"claim": item.name, "is": True}
            ready.append(_ready("It happens that", item.name, f"“{item.name}” is so", given))
    if graph.world.faults.crashes or graph.world.start == "down":
        for text, where in (
            ("a member is down", "len(up) < len(view)"),
            ("no member runs", _none_runs(graph)),
        ):
            ready.append(_ready("Members run or not", text, text, {"where": where}))
    values = _values(graph, found)
    for name, texts in values.items():
        for least, who in ((1, "a member shows"), (2, "two members show")):
            group = f"{who} {name}".strip()
            for text in texts:
                about = f'"{name}", "{text}"' if name else f'"{text}"'
                asked = {"where": f"count({about}) >= {least}"}
                label = f"{group} = {text}" if name else f"{group} {text}"
                ready.append(_ready(group[0].upper() + group[1:], text, label, asked))
    return ready


def _none_runs(graph: Graph) -> str:
    beside = [name for name in graph.names if name in graph.world.beside]
    return f"all(name in {beside!r} for name in up)" if beside else "len(up) == 0"


def _ready(group: str, short: str, label: str, arguments: Json) -> Json:
    return {"group": group, "short": short, "label": label, "arguments": arguments}


def _values(graph: Graph, found: Sequence[int]) -> dict[str, list[str]]:
    """Return the attributes with few values, and the values: all of an enum, or the values met."""
    from enum import Enum

    values: dict[str, dict[str, None]] = {}
    enums: set[str] = set()
    for at in found[:: 1 + len(found) // SAMPLE]:
        for name, shown in graph.view(at).items():
            if shown is DOWN or name in graph.world.beside:
                continue
            parts = shown_parts(shown)
            pairs = [(part, shown_part(shown, part)) for part in parts] or [("", shown)]
            for part, value in pairs:
                if value == name:
                    continue  # an attribute that only names the member
                met = values.setdefault(part, {})
                if isinstance(value, Enum):
                    enums.add(part)
                    met.update(dict.fromkeys(map(plain, type(value))))
                elif isinstance(value, str):
                    met[plain(value)] = None
    return {
        name: list(met)
        for name, met in values.items()
        if 1 < len(met) <= VALUES_MAX * (1 + (name in enums))
        and all('"' not in text and "\\" not in text for text in met)
    }
