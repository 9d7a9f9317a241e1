"""The projected graph of a finished search: one node for all rows that agree in some attributes.

Nodes, and their numbers of rows, count all rows.  Edges are the steps of a sample of rows, together
with one step into each row.  So each node that a run reaches has an edge into it, but an edge that
few rows have may be missing if not all rows were expanded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from joinproto.check.steps import said
from joinproto.explore.deep.nearest import answers_of
from joinproto.explore.deep.searched import PIECE, SearchIndex
from joinproto.explore.graph import Json
from joinproto.explore.seeing import kept_text, shortened, too_many_nodes

if TYPE_CHECKING:
    from joinproto.check.engine.shapes import Flags, Ints, Rows
    from joinproto.explore.session import Session

EXPANDED_MAX = 1 << 20
"""The most rows that are expanded for edges, approximately."""

_RUN = 1 << 12
"""The number of adjacent rows that the sample takes at a time."""

LABELLED_MAX = 60
"""The most nodes for which edges have labels: in a larger picture labels cannot be read."""

_KEY_MAX = 1 << 62


def projected(session: Session, searched: SearchIndex, by: Sequence[str], nodes_max: int) -> Json:
    """Return the graph of all rows, with one node for all rows that agree in `by`.

    Raises `UsageProblem` for more than `nodes_max` nodes.
    """
    projection = _Projection(session, searched, tuple(by), nodes_max)
    projection.sort_rows()
    edges = projection.edges()
    return {
        "nodes": projection.nodes(),
        "edges": edges,
        "states": len(searched.parent),
        "whole": True,
        "expanded": projection.expanded,
    }


@define
class _Projection:
    """The nodes that rows are sorted into.

    `classes`: for each member, a local state's number to the number of its text.  `texts`: for each
    member, these texts.  `keys`: the keys of the nodes, ascending, int64.  `of_row`: row to node,
    int32.
    """

    session: Session
    searched: SearchIndex
    by: tuple[str, ...]
    nodes_max: int
    expanded: int = 0
    classes: list[Ints] = field(init=False, factory=list)
    texts: list[list[str]] = field(init=False, factory=list)
    keys: Ints = field(init=False)
    of_row: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        graph, tables = self.session.now.graph, self.searched.search.tables
        room = 1
        for member, code in enumerate(graph.steps.codes.members):
            known: dict[str, int] = {}
            numbers = [
                known.setdefault(
                    kept_text(graph, code.name, graph.texts_of(code, value), self.by), len(known)
                )
                for value in tables.values[member].values
            ]
            self.classes.append(np.array(numbers, np.int64))
            self.texts.append(list(known))
            room *= len(known)
        if room >= _KEY_MAX:
            raise too_many_nodes(self.nodes_max)

    def _keys_of(self, rows: Rows) -> Ints:
        """Return the node's key for each row, as a number of mixed radix: int64 (row,)."""
        key = np.zeros(len(rows), np.int64)
        for member, classes in enumerate(self.classes):
            key *= len(self.texts[member])
            key += classes[self.searched.values(rows, member)]
        return key

    def sort_rows(self) -> None:
        """Find the nodes, and the node of each row; raises `UsageProblem`."""
        search = self.searched.search
        count = search.states.count
        found = np.empty(0, np.int64)
        for at in range(0, count, PIECE):
            piece = self._keys_of(search.rows()[at : min(count, at + PIECE)])
            found = np.union1d(found, piece)
            if len(found) > self.nodes_max:
                raise too_many_nodes(self.nodes_max)
        self.keys = found
        self.of_row = np.empty(count, np.int32)
        for at in range(0, count, PIECE):
            upto = min(count, at + PIECE)
            self.of_row[at:upto] = self._nodes_of(search.rows()[at:upto])

    def _nodes_of(self, rows: Rows) -> Ints:
        found: Ints = np.searchsorted(self.keys, self._keys_of(rows))
        return found

    def nodes(self) -> list[Json]:
        """Return the nodes: number, text, nearest row, number of rows, `first` and `broken`."""
        search, count = self.searched.search, len(self.keys)
        rows = np.bincount(self.of_row, minlength=count)
        _, nearest = np.unique(self.of_row, return_index=True)
        first, broken = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        first[self.of_row[: search.found.levels[1]]] = True
        for at in np.flatnonzero(self._breaks()).tolist():
            broken[self.of_row[self.searched.number == self.searched.order[at]]] = True
        return [
            {
                "id": node,
                "text": self._text(int(self.keys[node])),
                "row": int(nearest[node]),
                "states": int(rows[node]),
                "first": bool(first[node]),
                "broken": bool(broken[node]),
            }
            for node in range(count)
        ]

    def _breaks(self) -> Flags:
        """Return which combinations, in `order`, break a claim about each state."""
        breaks = np.zeros(len(self.searched.order), np.bool_)
        for item in self.session.now.graph.world.properties:
            if item.kind == "always":
                verdicts = answers_of(self.searched, item)
                if verdicts is not None:
                    breaks |= ~verdicts
        return breaks

    def _text(self, key: int) -> str:
        parts = []
        for name, texts in zip(
            reversed(self.session.now.graph.names), reversed(self.texts), strict=True
        ):
            key, at = divmod(key, len(texts))
            if texts[at]:
                parts.append(f"{name} {texts[at]}")
        return ", ".join(reversed(parts))

    def edges(self) -> list[Json]:
        """Return the edges: from, to, the number of such steps of expanded rows, and a label."""
        searched, search = self.searched, self.searched.search
        count, nodes = search.states.count, len(self.keys)
        later = np.flatnonzero(searched.parent >= 0)
        pairs = self.of_row[searched.parent[later]].astype(np.int64) * nodes + self.of_row[later]
        known, at = np.unique(pairs, return_index=True)
        example = dict(zip(known.tolist(), searched.parent[later[at]].tolist(), strict=True))
        times = dict.fromkeys(example, 0)
        every = max(1, -(-count // EXPANDED_MAX))
        for at_row in range(0, count, _RUN * every):
            upto = min(count, at_row + _RUN)
            self.expanded += upto - at_row
            for batch in search.successors(at_row, upto):
                pairs = self.of_row[batch.source].astype(np.int64) * nodes
                pairs += self._nodes_of(batch.rows)
                met, place, often = np.unique(pairs, return_index=True, return_counts=True)
                sources = batch.source[place]
                for pair, source, more in zip(
                    met.tolist(), sources.tolist(), often.tolist(), strict=True
                ):
                    example.setdefault(pair, source)
                    times[pair] = times.get(pair, 0) + more
        has_labels = nodes <= LABELLED_MAX
        return [
            {
                "from": pair // nodes,
                "to": pair % nodes,
                "count": often,
                "label": self._label(example[pair], pair % nodes) if has_labels else "",
            }
            for pair, often in sorted(times.items())
        ]

    def _label(self, source: int, node: int) -> str:
        """Return the words of a step from that row into a node, or an empty text."""
        from joinproto.check.engine.runs.paths import Steps

        search = self.searched.search
        for move, _, after in Steps(search).out_of(search.rows()[source]):
            if int(self._nodes_of(after.reshape(1, -1))[0]) == node:
                return shortened(said(move))
        return ""
