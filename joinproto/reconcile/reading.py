"""Reading queues, nodes and replicas from the answers of a broker's management API and its tools.

A malformed answer raises `HalfAnswer`, and the caller must make no change.  If only the facts of
one queue are wrong, that queue gets a problem in words, and the other queues are read.

Source: RabbitMQ 3.10, `/api/nodes`, `/api/queues`, `quorum_status` and `stream_status` with
`--formatter json`, as observed; the two columns that are new or renamed in 4.x, as in its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from joinproto.errors import PeerError
from joinproto.reconcile.queue import Kind, Node, Queue, Target, titled

COLUMNS = (
    "name,vhost,type,members,online,leader,node,arguments,policy,operator_policy,"
    "effective_policy_definition,message_bytes_persistent"
)
ARGUMENT, POLICY = "x-quorum-target-group-size", "target-group-size"
KINDS = {"quorum": Kind.QUORUM, "stream": Kind.STREAM}


class HalfAnswer(PeerError):
    """The broker's answer is malformed or incomplete."""


@frozen(order=True, cache_hash=True)
class Key:
    """The name of a queue, unique in a broker."""

    vhost: str
    name: str

    @property
    def title(self) -> str:
        return titled(self.name, self.vhost)


@frozen
class Facts:
    """The facts from one look at the broker.

    `problems`: for each queue whose facts are wrong, the reason.  `doubted`: queues whose list of
    members lacks their leader, so the list must be wrong.
    """

    nodes: tuple[Node, ...]
    queues: Mapping[Key, Queue]
    problems: Mapping[Key, str] = field(factory=dict)
    doubted: frozenset[Key] = frozenset()


@frozen
class Replica:
    """One replica.  `leads`: it is the leader, or a stream's writer.

    `at`, `committed`: the end of its log, and the last committed entry that it knows.  `votes`:
    false until it is promoted (from 4.0 on; before, every replica votes).
    """

    node: str
    at: int
    committed: int
    leads: bool
    answers: bool
    votes: bool = True


def facts_of(nodes: Any, queues: Any, target: int | None, zones: Mapping[str, str]) -> Facts:
    """Return the facts in the answers of `/api/nodes` and `/api/queues`.

    `target`: the configured number of replicas, or None.  `zones`: the zone of each node, by name.
    """
    known: dict[Key, Queue] = {}
    problems: dict[Key, str] = {}
    doubted: set[Key] = set()
    for one in _list(queues, "/api/queues"):
        kind = KINDS.get(_text(one, "type", "/api/queues"))
        if kind is None:
            continue
        key = Key(_text(one, "vhost", "/api/queues"), _text(one, "name", "/api/queues"))
        try:
            known[key] = _queue(key, kind, one, target)
            if known[key].members and known[key].leader is None and _leader(kind, one):
                doubted.add(key)
        except HalfAnswer as problem:
            problems[key] = problem.message
    load: dict[str, int] = {}
    for queue in known.values():
        for name in queue.members or ():
            load[name] = load.get(name, 0) + 1
    read = tuple(_node(one, load, zones) for one in _list(nodes, "/api/nodes"))
    return Facts(read, known, problems, frozenset(doubted))


def _node(one: Mapping[str, Any], load: Mapping[str, int], zones: Mapping[str, str]) -> Node:
    name = _text(one, "name", "/api/nodes")
    running = one.get("running")
    if not isinstance(running, bool):
        raise HalfAnswer(
            f"/api/nodes: the field `running` of {name} is not true or false", next="ask again"
        )
    return Node(
        name=name,
        running=running,
        zone=zones.get(name),
        load=float(load.get(name, 0)),
        drained=one.get("being_drained") is True,
        full=one.get("disk_free_alarm") is True or one.get("mem_alarm") is True,
    )


def _queue(key: Key, kind: Kind, one: Mapping[str, Any], target: int | None) -> Queue:
    members, online = _names(one, "members"), _names(one, "online")
    leader = _leader(kind, one)
    known = isinstance(leader, str) and (members is None or leader in members)
    size = one.get("message_bytes_persistent")
    return Queue(
        name=key.name,
        vhost=key.vhost,
        kind=kind,
        members=members,
        leader=leader if known else None,
        target=Target(
            argument=_number(one.get("arguments"), ARGUMENT),
            policy=_number(one.get("effective_policy_definition"), POLICY),
            configuration=target,
        ),
        behind=tuple(name for name in members or () if online is None or name not in online),
        size=size if isinstance(size, int) and size >= 0 else 0,
    )


def _leader(kind: Kind, one: Mapping[str, Any]) -> Any:
    return one.get("leader") or (one.get("node") if kind is Kind.STREAM else None)


def replicas_of(kind: Kind, answer: Any) -> tuple[Replica, ...]:
    """Return each replica as `quorum_status` or `stream_status` reports it."""
    found = []
    for one in _list(answer, "the status"):
        if kind is Kind.QUORUM:
            node = _text(one, "Node Name", "the status")
            at = one.get("Log Index", one.get("Last Log Index"))
            committed, leads = one.get("Commit Index"), one.get("Raft State") == "leader"
        else:
            node, at = _text(one, "node", "the status"), one.get("offset")
            committed, leads = one.get("committed_offset"), one.get("role") == "writer"
        if isinstance(at, int) and isinstance(committed, int):
            votes = one.get("Membership", "voter") == "voter"
            found.append(Replica(node, at, committed, leads, answers=True, votes=votes))
        else:
            found.append(Replica(node, 0, 0, leads, answers=False))
    return tuple(found)


def caught_up(replicas: tuple[Replica, ...]) -> frozenset[str]:
    """Return the nodes whose replica votes and has every entry that the leader has committed.

    Without an answer of the leader, return no nodes.
    """
    leader = next((one for one in replicas if one.leads and one.answers), None)
    if leader is None:
        return frozenset()
    return frozenset(
        one.node for one in replicas if one.answers and one.votes and one.at >= leader.committed
    )


def _list(value: Any, where: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise HalfAnswer(f"{where}: expected a list of objects", next="ask again")
    return value


def _text(one: Mapping[str, Any], name: str, where: str) -> str:
    found = one.get(name)
    if not isinstance(found, str) or not found:
        raise HalfAnswer(f"{where}: an object has no text in its field {name!r}", next="ask again")
    return found


def _names(one: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """Return a list of nodes, or None: the broker sends no list before it has statistics."""
    found = one.get(name)
    if not isinstance(found, list) or not all(isinstance(node, str) and node for node in found):
        return None
    return tuple(sorted(set(found)))


def _number(fields: Any, name: str) -> int | None:
    found = fields.get(name) if isinstance(fields, dict) else None
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise HalfAnswer(
            f"{name} is {found!r}, expected a number of replicas",
            next=f"declare the queue again, or set the policy again, with {name} as a number",
        )
    return found
