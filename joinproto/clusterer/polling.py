"""The rows of the join and rejoin tables, the peers that a node waits for, and when it may go.

The rows are made from the statuses of a round.

Source: Clusterer, U4 and U5.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from joinproto.clusterer.config import Config
from joinproto.clusterer.state import State
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import JOIN, REJOIN, WAITS, Component, Next, WaitingPeer
from joinproto.clusterer.variants import Rules
from joinproto.machine.tables import Case


def leader(config: Config) -> str:
    """Return the node that founds the cluster: the gospel, or the least disc node for a reset."""
    return config.gospel if config.gospel is not None else min(config.disc)


def seen(
    config: Config,
    me: str,
    own: Status,
    statuses: Mapping[str, Status],
    ran: frozenset[str],
) -> tuple[WaitingPeer, ...]:
    """Return a row for each node of the config, in the order of names.

    `own`: the status of `me`.  A node that is not in `statuses` cannot be reached.
    """
    return tuple(
        WaitingPeer(
            name=name,
            status=own,
            other=False,
            ram=me in config.ram,
            leads=leader(config) == me,
            resets=config.gospel is None,
        )
        if name == me
        else WaitingPeer(
            name=name,
            status=statuses.get(name, Status.UNREACHABLE),
            ran=name in config.disc and name in ran,
        )
        for name in sorted(config.nodes)
    )


def seen_by(state: State, statuses: Mapping[str, Status]) -> tuple[WaitingPeer, ...]:
    """Return a row for each node of the config, as this node sees it."""
    config = state.config_now.config
    return seen(config, state.who.me, state.status, statuses, state.record.ran)


def choose(status: Status, rows: tuple[WaitingPeer, ...], me: int) -> Case[Next]:
    """Return the case of the join or rejoin table that holds for the node at place `me`."""
    return (JOIN if status is Status.JOINING else REJOIN).choose(rows, me)


def blockers(
    config: Config, seen: tuple[WaitingPeer, ...], case: Case[Next], awaited: frozenset[str] | None
) -> frozenset[str]:
    """Return the peers that a node waits for without end (U4), by the case of its table.

    `awaited`: for a rejoining node, the nodes that may have newer data.
    """
    others = [one for one in seen if one.other]
    match case.name:
        case "a node is unreachable" | "a node is not joining":
            return frozenset(one.name for one in others if one.status is not Status.JOINING)
        case "another is first":
            return frozenset({leader(config)})
        case "a ram node":
            return frozenset(one.name for one in others if one.name in config.disc)
        case "a later one is away":
            away = Status.UNREACHABLE
            return frozenset(one.name for one in others if one.ran and one.status is away)
    return awaited or frozenset()


# -- wait-for graphs (U5) --------------------------------------------------------------------------


@frozen
class MayGo:
    """Whether a node may go, by the wait-for graph.

    `component`: the node's strongly connected component (its circle).  `out`: the nodes outside the
    component that the component awaits.  `in_cycle`: a path leads from the node back to itself.
    `earlier`: the nodes of the component that stopped before another of its nodes (ours).
    """

    case: Case[Next]
    component: frozenset[str]
    out: frozenset[str]
    in_cycle: bool
    earlier: frozenset[str]


def may_go(
    graph: Mapping[str, frozenset[str]], me: str, rules: Rules, *, complete: bool = True
) -> MayGo:
    """Return whether a node may go, by the wait-for graph.

    All nodes that it awaits, over any number of steps, must await it, too: its component has no
    edge out.  In ours, no node of its component may have stopped later.  `graph`: for each node,
    the nodes that it awaits; `complete`: all nodes have answered.
    """
    beyond = _reached(graph, me)
    component = frozenset({me, *(one for one in beyond if one == me or me in _reached(graph, one))})
    out = frozenset(other for one in component for other in graph.get(one, frozenset()) - component)
    earlier = stopped_earlier(graph, component) if rules.ours else frozenset()
    facts = Component(complete=complete, edge_out=bool(out), stopped_earlier=me in earlier)
    return MayGo(WAITS.choose((facts,), 0), component, out, me in beyond, earlier)


def stopped_earlier(graph: Mapping[str, frozenset[str]], circle: frozenset[str]) -> frozenset[str]:
    """Return the nodes of a circle that await another of its nodes, but not the reverse (ours).

    The other node saw them stop.  Otherwise: a stops; b sees this and writes; c, which has the
    write, too, stops before it sees that a stopped; a awaits b and c, and c awaits a; a goes, and
    the write is lost.  If all nodes of the circle are such nodes, as after cut links, return the
    empty set.
    """
    found = frozenset(
        one for one in circle if any(one not in graph[other] for other in graph[one] & circle)
    )
    return found if found != circle else frozenset()


def _reached(graph: Mapping[str, frozenset[str]], node: str) -> set[str]:
    """Return the nodes that can be reached in the wait-for graph; `node` itself only on a cycle."""
    found: set[str] = set()
    new = set(graph.get(node, frozenset()))
    while new:
        found |= new
        new = {other for one in new for other in graph.get(one, frozenset())} - found
    return found
