"""Questions about a waiting node: join, rejoin, the wait-for graph, locks.

Source: Clusterer, U4 and U5.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from attrs import frozen

from joinproto.ask.question import Answer, Question, question
from joinproto.clusterer.ask_config import CONFIG, ONE, config_at
from joinproto.clusterer.ask_nodes import NODE, RELEASE, VARIANT
from joinproto.clusterer.config import Config
from joinproto.clusterer.polling import blockers, choose, may_go, seen
from joinproto.clusterer.reading import Release
from joinproto.clusterer.status import WAITING, Status
from joinproto.clusterer.tables import JOINERS, LOCKS, RAN, AskedLock, Lock, Next, WaitingPeer
from joinproto.clusterer.variants import RULES, Variant
from joinproto.clusterer.why import reason
from joinproto.codec.json_form import Absent, Last
from joinproto.codec.strict import DoesNotFit
from joinproto.machine.compiled import members_of

NONE: Mapping[str, str] = MappingProxyType({})
PeerStatus = Literal[
    "preboot", "joining", "rejoining", "booting", "ready", "pending", "unreachable"
]


@frozen(kw_only=True)
class AskJoin:
    """The statuses that a waiting node has heard from the others, which all have its config."""

    node: NODE
    config: Annotated[Mapping[str, Any], CONFIG]
    statuses: Annotated[
        Mapping[str, PeerStatus],
        "the statuses of the other nodes; a node that is left out cannot be reached",
    ]
    release: RELEASE = Release.SEED


@frozen(kw_only=True)
class JoinAnswer(Answer):
    """The next action of a waiting node."""

    does: Annotated[Next, "the next action"]
    wiped: Annotated[bool, "whether it deletes its data now"]
    waits_for: Annotated[tuple[str, ...], "the nodes that it needs before it can go on"]
    awaited: Annotated[
        tuple[str, ...] | None, "rejoin: the nodes that may have newer data", Absent()
    ]
    case: Annotated[str, Last(8), "the name of the case that decided"]


def _config(asked: AskJoin) -> Config:
    config = config_at("config", asked.config, asked.release).config
    if asked.node not in config.nodes:
        raise DoesNotFit("node", f"{asked.node!r} is not in the config", next="name one of nodes")
    for name in asked.statuses:
        if name not in config.nodes or name == asked.node:
            raise DoesNotFit(
                f"statuses.{name}",
                f"{name!r} is not another node of the config",
                next="leave it out",
            )
    return config


@question("clusterer.join", node="a", config=ONE, statuses={"b": "joining"})
def answer_join(asked: AskJoin) -> JoinAnswer:
    """Return the action of a joining node: join, go first, or wait, and for which nodes."""
    return _next(asked, _config(asked), Status.JOINING, frozenset())


@question(
    "clusterer.rejoin",
    "The statuses that a rejoining node has heard from nodes with the same config.",
    node="a",
    config={**ONE, "nodes": {"a": "disc", "b": "disc"}},
    statuses={"b": "rejoining"},
    ran=["a", "b"],
)
def answer_rejoin(
    asked: AskJoin,
    *,
    ran: Annotated[tuple[str, ...], "the nodes that ran when this one stopped last"] = (),
) -> JoinAnswer:
    """Return the action of a rejoining node: boot, go, ask, or wait, and for which nodes."""
    return _next(asked, _config(asked), Status.REJOINING, frozenset(ran))


def _next(asked: AskJoin, config: Config, own: Status, ran: frozenset[str]) -> JoinAnswer:
    statuses = {name: Status(said) for name, said in asked.statuses.items()}
    rows = seen(config, asked.node, own, statuses, ran)
    me = next(at for at, one in enumerate(rows) if not one.other)
    alone = config.is_single(asked.node)
    if alone:
        wipes = own is Status.JOINING and config.gospel is None
        return JoinAnswer(
            does=Next.FOUND_EMPTY if wipes else Next.FOUND,
            wiped=wipes,
            waits_for=(),
            awaited=None,
            rule="U4",
            case="alone",
            why="the config names this node alone",
        )
    case = choose(own, rows, me)
    awaited = _awaited(rows, me) if own is Status.REJOINING else None
    waits = case.outcome is Next.WAIT
    waits_for = blockers(config, rows, case, awaited) if waits else frozenset()
    return JoinAnswer(
        does=case.outcome,
        wiped=case.outcome in (Next.JOIN, Next.FOUND_EMPTY),
        waits_for=tuple(sorted(waits_for)),
        awaited=None if awaited is None else tuple(sorted(awaited)),
        rule=case.label,
        case=case.name,
        why=reason(case.label, case.name, waits_for),
    )


def _awaited(rows: tuple[WaitingPeer, ...], me: int) -> frozenset[str]:
    ran = frozenset(rows[at].name for at in members_of(RAN, rows, me))
    return ran - frozenset(rows[at].name for at in members_of(JOINERS, rows, me))


@frozen(kw_only=True)
class MayGoAnswer:
    """Whether one node of the wait-for graph may take the locks."""

    goes: Annotated[bool, "whether it may take the locks"]
    component: Annotated[tuple[str, ...], "its strongly connected component, with the node itself"]
    out: Annotated[tuple[str, ...], "the nodes outside the component that the component awaits"]
    why: Annotated[str, "the name of the case that decided"]


@frozen(kw_only=True)
class WaitsAnswer(Answer):
    """The nodes of a wait-for graph that may take the locks."""

    goes: Annotated[tuple[str, ...], "the nodes that may take the locks, sorted by name"]
    nodes: Annotated[Mapping[str, MayGoAnswer], "the nodes that have said which nodes they await"]


@question(
    "clusterer.waits",
    "A wait-for graph: for each rejoining node, the nodes that it awaits.",
    awaits={"a": ["b"], "b": ["a"], "c": ["a"]},
)
def answer_waits(
    *,
    awaits: Annotated[
        Mapping[str, tuple[str, ...] | None],
        "for each node, the nodes that it awaits; null: it has not said",
    ],
    variant: VARIANT = Variant.SEED,
) -> WaitsAnswer:
    """Return the nodes of a wait-for graph that may take the locks."""
    graph = {name: frozenset(said) for name, said in awaits.items() if said is not None}
    complete = len(graph) == len(awaits)
    found = {}
    for name in sorted(graph):
        # A node that awaits no other node need not ask the others.
        rules = RULES[variant, Release.SEED]
        may = may_go(graph, name, rules, complete=complete or not graph[name])
        found[name] = MayGoAnswer(
            goes=may.case.outcome is Next.LOCK,
            component=tuple(sorted(may.component)),
            out=tuple(sorted(may.out)),
            why=may.case.name,
        )
    goes = tuple(name for name, one in found.items() if one.goes)
    why = (
        "no edge leads out of the components of these nodes"
        if goes
        else "no node may go: each component awaits a node outside it"
    )
    if not complete:
        why = "not all nodes have answered, so only a node that awaits no other node may go"
    return WaitsAnswer(goes=goes, nodes=found, rule="U5", why=why)


@frozen(kw_only=True)
class LocksAnswer(Answer):
    """Whether a node gets the locks of all nodes of its config."""

    goes: Annotated[bool, "whether it boots, because no node that it reached refused its lock"]
    order: Annotated[tuple[str, ...], "the order in which it asks the nodes: by name"]
    taken: Annotated[
        tuple[str, ...], "the nodes whose locks it took; if it does not go, it gives them back"
    ]
    skipped: Annotated[
        tuple[str, ...], "the nodes that cannot be reached; their locks count as granted"
    ]
    refused_by: Annotated[str | None, "the first node that refuses its lock; null: none"]


@question(
    "clusterer.locks",
    "A node that wants to go first takes the lock of every node of its config.",
    node="a",
    nodes=["a", "b", "c"],
    statuses={"b": "rejoining"},
    held_by={"b": "c"},
)
def answer_locks(
    *,
    node: NODE,
    nodes: Annotated[tuple[str, ...], "the nodes of the config, with the node itself"],
    statuses: Annotated[
        Mapping[str, PeerStatus],
        "the statuses of the nodes.  A node that is left out cannot be reached; the node itself"
        " waits",
    ],
    held_by: Annotated[
        Mapping[str, str], "the locks that are taken: the lock's node, and the node that holds it"
    ] = NONE,
) -> LocksAnswer:
    """Whether a node gets the locks of all nodes of its config."""
    if node not in nodes:
        raise DoesNotFit("nodes", f"the node {node!r} is not among the nodes", next="add it")
    for field, named in (("statuses", statuses), ("held_by", held_by)):
        if strange := sorted(set(named) - set(nodes)):
            known = ", ".join(sorted(nodes))
            raise DoesNotFit(
                f"{field}.{strange[0]}",
                f"{strange[0]!r} is not a node of the config",
                next=f"use its nodes: {known}",
            )
    order = tuple(sorted(set(nodes)))
    taken, skipped, refused, why = list[str](), list[str](), None, "every lock is granted"
    for name in order:
        status = Status(statuses.get(name, "unreachable"))
        if name == node and name not in statuses:
            status = Status.REJOINING
        if status is Status.UNREACHABLE:
            skipped.append(name)
            continue
        row = AskedLock(
            waiting=status in WAITING,
            taken=held_by.get(name, node) != node,
        )
        case = LOCKS.choose((row,), 0)
        if case.outcome is Lock.REJECT:
            refused, why = name, f"{name} refuses its lock: {case.name}; all locks are given back"
            break
        taken.append(name)
    return LocksAnswer(
        goes=refused is None,
        order=order,
        taken=tuple(taken),
        skipped=tuple(skipped),
        refused_by=refused,
        rule="U5",
        why=why,
    )


WAITING_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_join,
    answer_rejoin,
    answer_waits,
    answer_locks,
)
