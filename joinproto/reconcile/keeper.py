"""The next actions of `reconcile run`: queues to inspect, changes to begin, changes to wait for.

The keeper is a value with pure steps; times are arguments, in seconds of one clock.  The host reads
the broker, stores each intent before it acts on it, and reports the outcome.

    observe     note the nodes and queues of the broker, and since when nodes are down
    due         which queues must be looked at now, by their clocks
    judge       decide about one queue, by the broker's list or by the leader's own answer
    follow      find the outcome of a change that was begun

Source: reconciliation, Q2, Q4 and Q5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import Enum

from attrs import field, frozen

from joinproto.machine.values import evolve
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why
from joinproto.reconcile.placement import Placement
from joinproto.reconcile.plan import Limits
from joinproto.reconcile.queue import Kind, Node, Queue, Settings, Situation, Variant
from joinproto.reconcile.reading import Facts, Key, Replica, caught_up
from joinproto.reconcile.tables import Action
from joinproto.reconcile.timers import Clock, Happens, Timers


@frozen
class Rules:
    """The rules for all queues.

    `settle`: the seconds from the end of a change's tool until the change may be tried again, if it
    had no effect.
    `place`: the function that chooses a node, instead of the function that the settings name.
    """

    pace: Timers = Timers()
    settings: Settings = Settings()
    limits: Limits = Limits()
    settle: float = 60.0
    place: Placement | None = None


@frozen
class Intent:
    """A change that was begun, or is about to begin.

    `since`: when it begins, in seconds since the epoch.  `ended_at`: when its tool ended, on the
    same clock, or None if it has not ended.
    """

    key: Key
    kind: Kind
    action: Action
    node: str
    leader: str
    since: float
    ended_at: float | None = None

    @property
    def text(self) -> str:
        return f"{self.action.value} {self.node}"


class ChangeOutcome(Enum):
    """The outcome of a change."""

    NOT_YET = "under way"
    DONE = "done"
    LOST = "its node was lost"
    UNDONE = "it left no trace"


@frozen
class Verdict:
    """A decision for one queue, and whether its change begins now.

    `intent`: the change to begin now, or None.  `busy`: why a change must wait for copies, or "".
    """

    decision: Decision
    intent: Intent | None = None
    busy: str = ""

    @property
    def why(self) -> str:
        """Return the reason, in a sentence."""
        return self.busy or why(self.decision)

    @property
    def is_change(self) -> bool:
        return bool(self.decision.nodes)


@frozen
class Keeper:
    """The knowledge that is kept between two looks; `intents` are on disk as well.

    `stays`: the nodes whose replica of a stream could not be removed.  In 3.x, the replica of a
    node that is down cannot be removed.  The removal is tried again after the next event of a node.
    `changed_at`: when a node last came, went, was drained or was undrained.  `doubted`: queues
    whose list of members must be wrong, so their leaders are asked.
    """

    rules: Rules
    nodes: tuple[Node, ...] = ()
    queues: Mapping[Key, Queue] = field(factory=dict)
    down_since: Mapping[str, float] = field(factory=dict)
    clocks: Mapping[Key, Clock] = field(factory=dict)
    intents: Mapping[Key, Intent] = field(factory=dict)
    stays: Mapping[Key, frozenset[str]] = field(factory=dict)
    changed_at: float = -math.inf
    doubted: frozenset[Key] = frozenset()

    @property
    def running(self) -> frozenset[str]:
        return frozenset(node.name for node in self.nodes if node.running)

    def observe(self, facts: Facts, now: float) -> Keeper:
        """Return the keeper after one look at the broker.

        No tool of this process runs during a look.  A tool whose end is not known was therefore
        started by an earlier process, and counts as ended now.
        """
        down = {node.name for node in facts.nodes if not node.running}
        events = list(_events(self.nodes, facts.nodes))
        clocks = {}
        for key in facts.queues:
            clock = self.clocks.get(key)
            if clock is None:
                clock = Clock(
                    variant=Variant.OURS, pace=self.rules.pace, queue=f"{key.vhost}/{key.name}"
                ).start(now)
            for event in events:
                clock = clock.hear(event, now)
            clocks[key] = clock
        return evolve(
            self,
            nodes=facts.nodes,
            queues=facts.queues,
            down_since={name: self.down_since.get(name, now) for name in sorted(down)},
            clocks=clocks,
            intents={
                key: one if one.ended_at is not None else evolve(one, ended_at=now)
                for key, one in self.intents.items()
            },
            stays={} if events else self.stays,
            changed_at=now if events else self.changed_at,
            doubted=facts.doubted,
        )

    def due(self, now: float) -> list[Key]:
        """Return the queues that must be looked at now.

        Queues with the fewest replicas to spare come first, then the smallest, then the queues that
        are due longest.  If nodes can take only some copies, this order decides which copies begin
        (Q5).
        """
        found = [
            (at, key)
            for key, clock in self.clocks.items()
            if (at := clock.next) is not None and at <= now
        ]
        if len(found) < 2:
            return [key for _, key in found]
        order = [
            (self._situation(key, now, None).spare, self.queues[key].size, at, key)
            for at, key in found
        ]
        return [key for *_, key in sorted(order)]

    def judge(self, key: Key, now: float, replicas: tuple[Replica, ...] | None = None) -> Verdict:
        """Return the decision for a queue, and whether its change begins now.

        `replicas`: the latest answer of the queue's leader, or None if the leader was not asked.
        """
        decision = evaluate(self._situation(key, now, replicas), self.rules.place)
        if not decision.nodes:
            return Verdict(decision)
        leader = decision.situation.evaluator or ""
        intent = Intent(key, self.queues[key].kind, decision.action, decision.nodes[0], leader, now)
        busy = self._busy(intent)
        if busy is not None:
            return Verdict(decision, busy=busy)
        return Verdict(decision, intent)

    def follow(
        self, intent: Intent, now: float, replicas: tuple[Replica, ...] | None
    ) -> ChangeOutcome:
        """Return the outcome of a change so far; `replicas` None if the leader did not answer."""
        is_add = intent.action is Action.ADD
        away = self.down_since.get(intent.node)
        interval = self.rules.settings.failure_interval
        if is_add and away is not None and now - away >= interval:
            return ChangeOutcome.LOST
        if is_add and self.nodes and all(node.name != intent.node for node in self.nodes):
            return ChangeOutcome.LOST
        if replicas is None or not any(one.leads for one in replicas):
            return ChangeOutcome.NOT_YET
        there = intent.node in _members(self.queues[intent.key], replicas, self.running)
        if there is is_add:
            is_done = not is_add or intent.node in caught_up(replicas)
            return ChangeOutcome.DONE if is_done else ChangeOutcome.NOT_YET
        return ChangeOutcome.UNDONE if self.has_settled(intent, now) else ChangeOutcome.NOT_YET

    def has_settled(self, intent: Intent, now: float) -> bool:
        """Return whether a tool's change has taken effect by now, or never will.

        The time counts from the tool's end.  Otherwise: the tool that adds d hangs for a minute,
        and is ended by its time-out.  Counted from its start, the time is over at once, and the
        change counts as without effect.  d is drained, so e is added, and then d appears, too.
        """
        return intent.ended_at is not None and now - intent.ended_at >= self.rules.settle

    def decision_after_change(
        self,
        intent: Intent,
        outcome: ChangeOutcome,
        now: float,
        replicas: tuple[Replica, ...] | None,
    ) -> Verdict | None:
        """Return the decision for the queue of a change that has ended.

        Return None if the queue needs no decision before its turn.  A tool that fails half-way may
        have changed the list but not the group, and a list that looks right is not doubted again.
        Therefore the leader's answer decides at once, also after a change that was done: until the
        replaced dead member is dropped, a failure of the new member may stop a queue that would
        have survived.
        """
        if intent.key not in self.queues or replicas is None:
            return None
        verdict = self.judge(intent.key, now, replicas)
        can_wait = outcome is ChangeOutcome.DONE and verdict.intent is None
        return None if can_wait else verdict

    def begun(self, intent: Intent) -> Keeper:
        """Return the keeper with this change among the begun changes."""
        return evolve(self, intents={**self.intents, intent.key: intent})

    def without_change(self, intent: Intent, outcome: ChangeOutcome) -> Keeper:
        """Return the keeper without this change, which has ended."""
        rest = {key: one for key, one in self.intents.items() if key != intent.key}
        stays = dict(self.stays)
        is_removal = intent.action is Action.REMOVE and intent.kind is Kind.STREAM
        # Without `is_steady`: b is down, and its removal is refused.  Before this is noticed, b is
        # forgotten, so its replica could now be removed; but no more node comes or goes, and the
        # removal is never tried again.
        is_steady = intent.since >= self.changed_at
        if is_removal and is_steady and outcome is ChangeOutcome.UNDONE:
            stays[intent.key] = stays.get(intent.key, frozenset()) | {intent.node}
        return evolve(self, intents=rest, stays=stays)

    def looked(self, changed: Mapping[Key, bool], now: float) -> Keeper:
        """Return the keeper after looks at queues.

        `changed`: for each queue, whether the look changed something or lacked a fact.
        """
        if not changed:
            return self
        clocks = {key: self.clocks[key].looked(now, changed=one) for key, one in changed.items()}
        return evolve(self, clocks={**self.clocks, **clocks})

    def _situation(self, key: Key, now: float, replicas: tuple[Replica, ...] | None) -> Situation:
        queue = self.queues[key]
        if replicas is not None:
            queue = _as_reported(queue, replicas, self.running)
        running = self.running
        members = queue.members or ()
        intent = self.intents.get(key)
        queue = evolve(
            queue,
            behind=tuple(name for name in queue.behind if name in running),
            away={name: now - self.down_since[name] for name in members if name in self.down_since},
            changing=None if intent is None else intent.text,
            stays=tuple(sorted(self.stays.get(key, frozenset()) & set(members))),
        )
        return Situation(queue=queue, nodes=self.nodes, settings=self.rules.settings)

    def _busy(self, intent: Intent) -> str | None:
        """Return why no more copy may begin now, or None if one may: Q5."""
        if intent.action is not Action.ADD:
            return None
        begun = sum(one.action is Action.ADD for one in self.intents.values())
        in_all = self.rules.limits.copies_in_all
        if in_all is not None and begun >= in_all:
            return f"{begun} copies are under way, of at most {in_all} at a time"
        most = self.rules.limits.copies_at_once
        for node in (intent.node, intent.leader):
            copies = sum(
                one.action is Action.ADD and node in (one.node, one.leader)
                for one in self.intents.values()
            )
            if copies >= most:
                return f"{node} takes part in {copies} copies already, of at most {most} at a time"
        return None


def _as_reported(queue: Queue, replicas: tuple[Replica, ...], running: frozenset[str]) -> Queue:
    """Return the queue with its members, leader and late replicas, by the leader's answer."""
    leader = next((one.node for one in replicas if one.leads and one.answers), None)
    if leader is None:
        return evolve(queue, leader=None)
    up_to_date = caught_up(replicas)
    members = _members(queue, replicas, running)
    return evolve(
        queue,
        members=members,
        leader=leader,
        behind=tuple(name for name in members if name not in up_to_date),
    )


def _members(
    queue: Queue, replicas: tuple[Replica, ...], running: frozenset[str]
) -> tuple[str, ...]:
    """Return the nodes with a replica.

    A stream's status leaves out nodes that are down, so the list of members counts for these nodes.
    It does not count for running nodes, because a tool that failed half-way may have changed only
    the list.
    """
    nodes = {one.node for one in replicas}
    if queue.kind is Kind.STREAM:
        nodes |= {*(queue.members or ())} - running
    return tuple(sorted(nodes))


def _events(before: tuple[Node, ...], after: tuple[Node, ...]) -> Iterator[Happens]:
    """Yield the events of nodes between two looks; `before` is empty at the first look."""
    if not before or before == after:
        return
    was = {node.name: node for node in before}
    now = {node.name: node for node in after}
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            yield Happens.MEMBER_LEFT
        elif name not in was or (now[name].running and not was[name].running):
            yield Happens.NODE_UP
        elif was[name].running and not now[name].running:
            yield Happens.NODE_DOWN
        elif was[name].drained != now[name].drained:
            yield Happens.NODE_DRAINED if now[name].drained else Happens.NODE_UNDRAINED
