"""U5: who may go in a wait-for graph: a node that awaits, by any number of steps, only nodes
that await it too.

Source: Clusterer, U5; the real one takes the strongly connected component without an edge out.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from joinproto.clusterer.tables import WAITS, Component, Next
from joinproto.machine.tables import Case


@frozen
class MayGo:
    """`component`: the node's own circle, itself included.  `out`: the nodes it awaits beyond that.

    `in_cycle`: there is a way from the node back to itself.
    """

    case: Case[Next]
    component: frozenset[str]
    out: frozenset[str]
    in_cycle: bool


def may_go(graph: Mapping[str, frozenset[str]], me: str, *, complete: bool = True) -> MayGo:
    """Return whether a node may go.  `graph`: the nodes each awaits; `complete`: all have said."""
    beyond = _reached(graph, me)
    component = frozenset({me, *(one for one in beyond if one == me or me in _reached(graph, one))})
    out = frozenset(other for one in component for other in graph.get(one, frozenset()) - component)
    case = WAITS.choose((Component(complete=complete, edge_out=bool(out)),), 0)
    return MayGo(case, component, out, me in beyond)


def _reached(graph: Mapping[str, frozenset[str]], node: str) -> set[str]:
    """Return which nodes a node awaits, which these await, and so on; itself only on a way back."""
    found: set[str] = set()
    new = set(graph.get(node, frozenset()))
    while new:
        found |= new
        new = {other for one in new for other in graph.get(one, frozenset())} - found
    return found
