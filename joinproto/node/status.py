"""What a node says about itself: for `joinproto status`, health and metrics."""

from __future__ import annotations

from typing import Any

from joinproto import __version__
from joinproto.core.chain.view import Position, Seat
from joinproto.drivers.cluster import Cluster
from joinproto.drivers.failures import what_helps
from joinproto.log.replicated import ReplicatedLog


def status_of(cluster: Cluster, log: ReplicatedLog, peers: list[str]) -> dict[str, Any]:
    """Return the facts as JSON; ids are whole, so that two nodes can be compared."""
    engine = cluster.engine
    member = engine.member.it
    record, tip, waiting = member.record, member.view, engine.waiting
    return {
        "version": __version__,
        "member": cluster.config.member,
        "store_id": record.store_id,
        "cluster": cluster.config.cluster_name,
        "phase": member.phase.value,
        "serves": log.is_open,
        "is_sequencer": log.is_open and member.is_sequencer,
        "outcome": None if engine.outcome is None else engine.outcome.value,
        "store": record.state.value,
        "initial": record.lineage.initial,
        "final": record.lineage.final,
        "view": None
        if tip is None
        else {
            "id": tip.id,
            "number": tip.number,
            "kind": tip.kind.value,
            "members": _names(tip.members),
            "electors": _names(tip.electors),
        },
        "position": _position(record.position),
        "committed": log.committed,
        "pending": log.pending,
        "peers": peers,
        "waiting": None
        if waiting is None
        else {
            "rule": waiting.label,
            "case": waiting.case,
            "reason": None if waiting.reason is None else waiting.reason.value,
            "next": what_helps(waiting.reason),
        },
    }


def _names(seats: frozenset[Seat]) -> list[str]:
    return sorted(seat.member for seat in seats)


def _position(position: Position | None) -> Any:
    return None if position is None else {"view": position.view, "seq": position.seq}
