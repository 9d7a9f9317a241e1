"""A plan of all changes of all queues, in which no node copies more than it may.

Each queue changes one replica at a time and waits until the change is done.  The queue with the
fewest replicas to spare goes first; of several such queues, the smallest.  `Limits` bounds the
copies of a node, and of all nodes, at a time.  The plan uses only the given facts, and assumes that
every copy succeeds.

Source: reconciliation, Q4 and Q5.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast, Count
from joinproto.machine.values import evolve
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why
from joinproto.reconcile.placement import Placement
from joinproto.reconcile.queue import Node, Situation, Variant, titled
from joinproto.reconcile.tables import Action

STEPS_MAX = 100
"""A queue with this many changes is reported as unfinished; no queue should need so many."""


@frozen(kw_only=True)
class Limits:
    """Limits on the cost of repairs (Q5)."""

    copies_at_once: Annotated[
        int, AtLeast(1), "copies that a node sends and receives at a time"
    ] = 2
    copies_in_all: Annotated[
        int | None, AtLeast(1), "copies of all nodes at a time; null: as many as the nodes allow"
    ] = None
    bytes_per_second: Annotated[float, AtLeast(1), "the speed of one copy"] = 50e6


@frozen(kw_only=True)
class Change:
    """One replica that a queue gains or loses."""

    queue: Annotated[str, "the name of the queue"]
    vhost: Annotated[str, "the virtual host of the queue"]
    action: Annotated[Action, "add or remove"]
    node: Annotated[str, "the node that gains or loses the replica"]
    starts: Annotated[float, "when the change starts, in seconds from the start of the plan"]
    ends: Annotated[float, "when the change ends, in seconds from the start of the plan"]
    bytes: Annotated[Count, "the bytes that are copied"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]

    @property
    def title(self) -> str:
        return titled(self.queue, self.vhost)


@frozen(kw_only=True)
class Load:
    """The load that a plan puts on a node."""

    node: Annotated[str, "the name of the node"]
    adds: Annotated[Count, "the replicas that it gains"]
    removes: Annotated[Count, "the replicas that it loses"]
    bytes_in: Annotated[Count, "the bytes that it receives"]
    bytes_out: Annotated[Count, "the bytes that it sends"]
    load: Annotated[float, "its given load, plus 1 for each gain and minus 1 for each loss"]


@frozen(kw_only=True)
class Plan:
    """The changes in their order, their cost, and the final state of each queue."""

    changes: tuple[Change, ...]
    loads: tuple[Load, ...]
    seconds: float
    bytes: int
    ends: tuple[Decision, ...]
    """The last evaluation of each queue, in the order of the queues."""


_ALL = ""
"""Stands for all nodes together, where the name of a node is expected."""


class _Copies:
    """Which nodes copy, and until when.  `now` must never decrease from call to call."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._busy: dict[str, list[float]] = {}

    def free_at(self, node: str, now: float) -> float:
        """Return when this node may begin another copy."""
        most = self._limits.copies_in_all if node == _ALL else self._limits.copies_at_once
        busy = self._busy.setdefault(node, [])
        while busy and busy[0] <= now:
            heapq.heappop(busy)
        return now if most is None or len(busy) < most else busy[0]

    def take(self, nodes: Sequence[str], ends: float) -> None:
        """Note a copy between these nodes."""
        for node in (*nodes, _ALL):
            heapq.heappush(self._busy.setdefault(node, []), ends)


Turn = tuple[int, int, int, int]
"""The sort key of a queue: failures that it survives, bytes, place in the list, changes so far."""


class _Waiting:
    """The queues that wait until a node may copy again.

    Only the first queue of each node is looked at.  Otherwise all queues that wait for a node would
    be looked at each time one of its copies ends."""

    def __init__(self, copies: _Copies) -> None:
        self._copies = copies
        self._turns: dict[str, list[Turn]] = {}
        self._ends: list[tuple[float, str]] = []
        self._announced: set[str] = set()

    def put(self, turn: Turn, node: str, until: float) -> None:
        """Make a queue wait for this node."""
        heapq.heappush(self._turns.setdefault(node, []), turn)
        self._announce(node, until)

    def _announce(self, node: str, until: float) -> None:
        if node not in self._announced:
            self._announced.add(node)
            heapq.heappush(self._ends, (until, node))

    def move_due(self, coming: list[tuple[float, Turn, str | None]]) -> None:
        """Move the first queue of each node that may copy before the next turn to `coming`."""
        while self._ends and (not coming or self._ends[0][0] <= coming[0][0]):
            now, node = heapq.heappop(self._ends)
            heapq.heappush(coming, (now, heapq.heappop(self._turns[node]), node))

    def go_on(self, node: str, now: float) -> None:
        """Let the next queue that waits for this node have its turn once the node may copy."""
        self._announced.discard(node)
        if self._turns.get(node):
            self._announce(node, self._copies.free_at(node, now))

    def __bool__(self) -> bool:
        return bool(self._ends)


class _Loads:
    """The load of each node, with all decisions so far."""

    def __init__(self, situations: Sequence[Situation]) -> None:
        self.of = {node.name: node.load for one in situations for node in one.nodes}
        self._nodes: dict[int, Node] = {}

    def more(self, node: str, by: int) -> None:
        self.of[node] = self.of.get(node, 0.0) + by

    def put_into(self, situation: Situation) -> Situation:
        """Return the situation with the present loads of its nodes."""
        return evolve(situation, nodes=tuple(map(self._now, situation.nodes)))

    def _now(self, given: Node) -> Node:
        load = max(0.0, self.of[given.name])
        node = self._nodes.get(id(given), given)
        if node.load != load:
            node = self._nodes[id(given)] = evolve(given, load=load)
        return node


def plan(situations: Sequence[Situation], limits: Limits, place: Placement | None = None) -> Plan:
    """Return the changes until no queue can or must change any more.

    `place`: the function that chooses a node, instead of the function that the settings name.
    """
    loads, copies = _Loads(situations), _Copies(limits)
    coming: list[tuple[float, Turn, str | None]] = [
        (0.0, (one.spare, one.queue.size, at, 0), None) for at, one in enumerate(situations)
    ]
    heapq.heapify(coming)
    current = list(situations)
    # A queue that waits keeps its decision.  Otherwise all waiting queues would choose the same
    # node.
    decided: dict[int, Decision] = {}
    waiting = _Waiting(copies)
    ends: list[Decision | None] = [None] * len(current)
    changes: list[Change] = []

    def turn_of(now: float, turn: Turn) -> None:
        _, bytes_, at, steps = turn
        decision = decided.pop(at, None)
        if decision is None:
            decision = evaluate(loads.put_into(current[at]), place)
            if not decision.nodes or steps == STEPS_MAX:
                ends[at] = decision
                return
            for node in decision.nodes:
                loads.more(node, 1 if decision.action is Action.ADD else -1)
        end, size = now, current[at].queue.size if decision.action is Action.ADD else 0
        if size:
            copiers = (*decision.nodes, decision.situation.evaluator or "")
            free, last = max((copies.free_at(one, now), one) for one in (*copiers, _ALL))
            if free > now:
                decided[at] = decision
                waiting.put(turn, last, free)
                return
            end = now + size / limits.bytes_per_second
            copies.take(copiers, end)
        for node in decision.nodes:
            changes.append(_change(decision, node, now, end, size))
            current[at] = _changed(current[at], decision.action, node)
        heapq.heappush(coming, (end, (current[at].spare, bytes_, at, steps + 1), None))

    while coming or waiting:
        waiting.move_due(coming)
        now, turn, waited_for = heapq.heappop(coming)
        turn_of(now, turn)
        if waited_for is not None:
            waiting.go_on(waited_for, now)
    return Plan(
        changes=tuple(changes),
        loads=_loads(changes, situations, loads.of),
        seconds=max((one.ends for one in changes), default=0.0),
        bytes=sum(one.bytes for one in changes),
        ends=tuple(one for one in ends if one is not None),
    )


def _changed(situation: Situation, action: Action, node: str) -> Situation:
    left = tuple(name for name in situation.members if name != node)
    members = (*left, node) if action is Action.ADD else left
    here = situation.evaluator
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
    sources = {(one.queue.vhost, one.queue.name): one.evaluator for one in situations}
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
    """Return whether the queue has enough replicas, or no target."""
    if decision.situation.variant is Variant.REAL:
        return decision.case.name == "enough"
    return decision.case.name in ("enough", "no target")
