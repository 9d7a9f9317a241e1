"""All changes of all queues, in an order that loads no node with more than it may copy.

Each queue changes one replica at a time and waits until it is done; the queue with the fewest
replicas to spare goes first, and of these the smallest; a node sends and receives so many copies at
once, and all nodes together so many.  It is a plan:
nothing is foreseen but what is told, and every copy is taken to succeed.

Source: reconciliation, Q4 and Q5.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from attrs import evolve, frozen

from joinproto.json_form import AtLeast, Count
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why
from joinproto.reconcile.placement import Placement
from joinproto.reconcile.queue import Situation, Variant, titled
from joinproto.reconcile.tables import Action

STEPS_MAX = 100
"""No queue needs so many changes; a variant that does is stopped, and said to be unfinished."""


@frozen(kw_only=True)
class Limits:
    """What repairing may cost (Q5)."""

    copies_at_once: Annotated[
        int, AtLeast(1), "copies that a node sends and receives at a time"
    ] = 2
    copies_in_all: Annotated[
        int | None, AtLeast(1), "copies of all nodes at a time; null: as their nodes allow"
    ] = None
    bytes_per_second: Annotated[float, AtLeast(1), "of one copy"] = 50e6


@frozen(kw_only=True)
class Change:
    """One replica more or less."""

    queue: Annotated[str, "its name"]
    vhost: Annotated[str, "where it is"]
    action: Annotated[Action, "add or remove"]
    node: Annotated[str, "where"]
    starts: Annotated[float, "seconds from the start of the plan"]
    ends: Annotated[float, "seconds from the start of the plan"]
    bytes: Annotated[Count, "that are copied"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]

    @property
    def title(self) -> str:
        return titled(self.queue, self.vhost)


@frozen(kw_only=True)
class Load:
    """What a node gets to do."""

    node: Annotated[str, "its name"]
    adds: Annotated[Count, "replicas it gets"]
    removes: Annotated[Count, "replicas it loses"]
    bytes_in: Annotated[Count, "it receives"]
    bytes_out: Annotated[Count, "it sends"]
    load: Annotated[float, "as told, and 1 for each replica more"]


@frozen(kw_only=True)
class Plan:
    """The changes in their order, what they cost, and how each queue ends."""

    changes: tuple[Change, ...]
    loads: tuple[Load, ...]
    seconds: float
    bytes: int
    ends: tuple[Decision, ...]
    """The last evaluation of each queue, in the order of the queues."""


_ALL = ""
"""In the place of a node: all of them."""


class _Copies:
    """Which nodes copy until when."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._busy: dict[str, list[float]] = {}

    def free_at(self, node: str, now: float) -> float:
        """Return when this node may begin another copy."""
        most = self._limits.copies_in_all if node == _ALL else self._limits.copies_at_once
        busy = sorted(end for end in self._busy.get(node, ()) if end > now)
        return now if most is None or len(busy) < most else busy[-most]

    def take(self, nodes: Sequence[str], ends: float) -> None:
        """Note a copy between these nodes."""
        for node in (*nodes, _ALL):
            self._busy.setdefault(node, []).append(ends)


def plan(situations: Sequence[Situation], limits: Limits, place: Placement | None = None) -> Plan:
    """Return the changes that end with nothing left to do, or with what cannot be done."""
    loads = {node.name: node.load for one in situations for node in one.nodes}
    copies = _Copies(limits)
    coming = [(0.0, _spare(one), one.queue.size, at, 0) for at, one in enumerate(situations)]
    heapq.heapify(coming)
    current = list(situations)
    ends: list[Decision | None] = [None] * len(current)
    changes: list[Change] = []
    while coming:
        now, spare, bytes_, at, steps = heapq.heappop(coming)
        situation = _with_loads(current[at], loads)
        decision = evaluate(situation, place)
        if not decision.nodes or steps == STEPS_MAX:
            ends[at] = decision
            continue
        end = now
        for node in decision.nodes:
            size = situation.queue.size if decision.action is Action.ADD else 0
            if size:
                both = (node, situation.evaluates or node)
                free = max(copies.free_at(one, now) for one in (*both, _ALL))
                if free > now:
                    heapq.heappush(coming, (free, spare, bytes_, at, steps))
                    break
                end = now + size / limits.bytes_per_second
                copies.take(both, end)
            changes.append(_change(decision, node, now, end, size))
            loads[node] = loads.get(node, 0.0) + (1 if decision.action is Action.ADD else -1)
            current[at] = _changed(current[at], decision.action, node)
        else:
            heapq.heappush(coming, (end, _spare(current[at]), bytes_, at, steps + 1))
    return Plan(
        changes=tuple(changes),
        loads=_loads(changes, situations, loads),
        seconds=max((one.ends for one in changes), default=0.0),
        bytes=sum(one.bytes for one in changes),
        ends=tuple(one for one in ends if one is not None),
    )


def _spare(situation: Situation) -> int:
    """Return how many replicas may still be lost before no majority is left; less is worse."""
    size = len(situation.members)
    return sum(situation.runs(name) for name in situation.members) - (size // 2 + 1)


def _with_loads(situation: Situation, loads: dict[str, float]) -> Situation:
    nodes = tuple(evolve(node, load=max(0.0, loads[node.name])) for node in situation.nodes)
    return evolve(situation, nodes=nodes)


def _changed(situation: Situation, action: Action, node: str) -> Situation:
    left = tuple(name for name in situation.members if name != node)
    members = (*left, node) if action is Action.ADD else left
    here = situation.evaluates
    return evolve(situation, at=here, queue=evolve(situation.queue, members=members, leader=here))


def _change(decision: Decision, node: str, now: float, end: float, size: int) -> Change:
    return Change(
        queue=decision.situation.queue.name,
        vhost=decision.situation.queue.vhost,
        action=decision.action,
        node=node,
        starts=now,
        ends=end,
        bytes=size,
        rule=decision.rule,
        why=why(decision),
    )


def _loads(
    changes: Sequence[Change], situations: Sequence[Situation], loads: dict[str, float]
) -> tuple[Load, ...]:
    sources = {(one.queue.vhost, one.queue.name): one.evaluates for one in situations}
    adds: Counter[str] = Counter()
    removes: Counter[str] = Counter()
    received: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for one in changes:
        (adds if one.action is Action.ADD else removes)[one.node] += 1
        received[one.node] += one.bytes
        sent[sources[one.vhost, one.queue] or one.node] += one.bytes
    return tuple(
        Load(
            node=node,
            adds=adds[node],
            removes=removes[node],
            bytes_in=received[node],
            bytes_out=sent[node],
            load=max(0.0, loads[node]),
        )
        for node in sorted(loads)
    )


def is_settled(decision: Decision) -> bool:
    """Say whether the queue has what is wanted: `enough`, or nobody asks."""
    if decision.situation.variant is Variant.REAL:
        return decision.case.name == "enough"
    return decision.case.name in ("enough", "nobody asks")
