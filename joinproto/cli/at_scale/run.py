"""The events of a run, in their order: nodes that stop or return, looks at queues, ends of copies.

A look at a queue that needs no change is not an event.  While no replica of a queue is away, the
queue is not evaluated; otherwise looks begin when the failure interval is over.  The shipped
`evaluate` decides.  The shipped `Clock` says when, except in the way `events`, which does not wait.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

from attrs import define, field, frozen

from joinproto.cli.at_scale.cluster import Cluster, Copy
from joinproto.cli.at_scale.stories import NodeChange, RepairWay, Shape
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.queue import Queue, Settings, Situation, Target
from joinproto.reconcile.tables import Action
from joinproto.reconcile.timers import Clock, Happens, Timers

ALL_NODES = -1
"""Stands in place of a node for the cluster: all nodes together may copy no more."""


@frozen
class Moment:
    """The cluster from second `at` on.

    `below`: how many queues are below their target.  `copies`: how many copies are under way.
    """

    at: int
    below: int
    copies: int


EVENTS_PER_REPORT = 2_000
"""The number of events from one report of progress to the next."""


@define
class Run:
    """One run, from the beginning to `until` (seconds); `way`: how the replicas are kept."""

    shape: Shape
    way: RepairWay
    copies_at_once: int
    until: float
    copies_in_all: int | None = None
    cluster: Cluster = field(init=False)
    below_since: dict[int, float] = field(factory=dict)
    below_seconds: list[float] = field(factory=list)
    moments: list[Moment] = field(factory=list)
    evaluations: int = 0
    changes: int = 0
    for_nothing: int = 0
    cancelled: int = 0
    unmended: int = 0
    bytes_copied: float = 0.0
    copied: list[float] = field(factory=list)
    peak_of_a_node: int = 0
    peak: int = 0
    now: float = 0.0
    _heap: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _order: int = 0
    _played: int = 0
    _looks: dict[int, float] = field(factory=dict)
    _copies: dict[int, Copy] = field(factory=dict)
    _waiting: list[tuple[int, float, int, Copy]] = field(factory=list)
    _settings: Settings = field(init=False)
    _pace: Timers = field(init=False)

    def __attrs_post_init__(self) -> None:
        shape = self.shape
        self.cluster = Cluster.of(shape)
        self._settings = Settings(failure_interval=shape.failure_interval)
        self._pace = Timers(interval=shape.interval, trigger_interval=shape.trigger_interval)

    def play(
        self, story: Sequence[NodeChange], goes_on: Callable[[float], bool] = lambda part: True
    ) -> bool:
        """Take all events up to `until`; return False if `goes_on` ended the run before.

        `goes_on`: called now and then with the part of the time that was played, from 0 to 1.
        """
        for change in story:
            self._schedule(change.at, self._start if change.up else self._stop, change.node)
        while self._heap and self._heap[0][0] <= self.until:
            self.now, _, act = heapq.heappop(self._heap)
            act()
            self._record()
            self._played += 1
            if not self._played % EVENTS_PER_REPORT and not goes_on(self.now / self.until):
                return False
        self.now = self.until
        self.unmended = len(self.below_since)
        for queue in list(self.below_since):
            self._end_below(queue)
        return True

    def _schedule(self, when: float, act: Callable[[int], None], argument: int) -> None:
        self._order += 1
        heapq.heappush(self._heap, (when, self._order, lambda: act(argument)))

    # -- nodes -------------------------------------------------------------------------------

    def _stop(self, node: int) -> None:
        machine = self.cluster.machines[node]
        if not machine.up:
            return
        machine.up, machine.down_since = False, self.now
        for queue, copy in list(self._copies.items()):
            if node in (copy.source, copy.target):
                self._end_copy(queue)
                self.cancelled += 1
                self._plan_look(queue, self.now)
        for *_, waiting in machine.waiting:
            self.cluster.add_load(waiting.target, -1)
            self._plan_look(waiting.queue, self.now)
        machine.waiting.clear()
        for queue in self.cluster.queues_on[node]:
            self.cluster.live[queue] -= 1
            if self.cluster.live[queue] < self.shape.replicas:
                self.below_since.setdefault(queue, self.now)
                self._plan_look(queue, self.now + self.shape.failure_interval)

    def _start(self, node: int) -> None:
        machine = self.cluster.machines[node]
        if machine.up:
            return
        machine.up = True
        self.cluster.add_load(node, 0)
        for queue in self.cluster.queues_on[node]:
            self._add_live(queue)
            # A replica was made in place of this one, and was not needed.
            self.for_nothing += self.cluster.live[queue] > self.shape.replicas
            if queue in self.below_since:
                self._plan_look(queue, self.now + self.shape.trigger_interval)
        self.for_nothing += machine.dropped
        machine.dropped = 0

    # -- looks -------------------------------------------------------------------------------

    def _plan_look(self, queue: int, earliest: float) -> None:
        """Schedule a look at a queue, at the first time of its clock from `earliest` on."""
        when = self._look_from(queue, earliest)
        if queue not in self._copies and when < self._looks.get(queue, math.inf):
            self._looks[queue] = when
            self._schedule(when, self._look, queue)

    def _look_from(self, queue: int, earliest: float) -> float:
        if self.way is RepairWay.EVENTS:
            return earliest
        clock = Clock(variant=self.way.variant, pace=self._pace, queue=f"q{queue}").start(0.0)
        clock = clock.idle(self.now).hear(Happens.NODE_DOWN, self.now)
        while clock.next is not None and clock.next < earliest:
            # An earlier look only waits: ours looks again soon, `periodic` after its interval.
            clock = clock.looked(clock.next, changed=self.way is RepairWay.OURS)
        assert clock.next is not None
        return clock.next

    def _look(self, queue: int) -> None:
        if self._looks.get(queue) != self.now:
            return
        del self._looks[queue]
        if queue in self.below_since and queue not in self._copies:
            self._evaluate(queue)

    def _evaluate(self, queue: int) -> None:
        found = self._decide(queue)
        if found.action is Action.ADD:
            self._begin_copy(
                Copy(queue, _number(found.situation.evaluator), _number(found.nodes[0]))
            )
        elif found.case.name == "away, not for long":
            longest = max(found.situation.queue.away.values())
            self._plan_look(queue, self.now + self.shape.failure_interval - longest)
        # Else there is no majority, or no node takes a replica: the next node that returns plans a
        # look.

    def _decide(self, queue: int) -> Decision:
        """Drop replicas as `evaluate` decides; return the first decision that drops none."""
        cluster, machines = self.cluster, self.cluster.machines
        own = cluster.members[queue]
        away = {
            machines[n].name: self.now - machines[n].down_since for n in own if not machines[n].up
        }
        asked = Queue(
            members=tuple(machines[node].name for node in own),
            away=away,
            target=Target(configuration=self.shape.replicas),
        )
        self.evaluations += 1
        found = evaluate(
            Situation(
                queue=asked,
                nodes=cluster.shortlist(queue),
                settings=self._settings,
                variant=self.way.variant,
            )
        )
        if found.action is not Action.REMOVE:
            return found
        for name in found.nodes:
            cluster.drop(queue, _number(name))
        return self._decide(queue)

    # -- copies ------------------------------------------------------------------------------

    def _begin_copy(self, copy: Copy) -> None:
        machines = self.cluster.machines
        busy = self._busy_node(copy)
        if busy is not None:
            # The load of the target is raised, so that waiting copies choose different nodes.
            self.cluster.add_load(copy.target, 1)
            self._make_wait(busy, copy)
            return
        for node in (copy.target, copy.source):
            machines[node].copies += 1
            self.peak_of_a_node = max(self.peak_of_a_node, machines[node].copies)
        self.cluster.add_load(copy.target, 1)
        self._copies[copy.queue] = copy
        self.peak = max(self.peak, len(self._copies))
        seconds = self.cluster.sizes[copy.queue] / self.shape.rate
        self._schedule(self.now + seconds, lambda queue: self._finish(queue, copy), copy.queue)

    def _finish(self, queue: int, copy: Copy) -> None:
        if self._copies.get(queue) is not copy:
            return
        self._end_copy(queue)
        self.cluster.add_load(copy.target, 1)
        self.changes += 1
        self.bytes_copied += self.cluster.sizes[queue]
        self.copied.append(self.cluster.sizes[queue])
        if self.cluster.live[queue] >= self.shape.replicas:
            self.for_nothing += 1
        self.cluster.add(queue, copy.target)
        self._add_live(queue)
        if queue in self.below_since:
            self._plan_look(queue, self.now + self.shape.trigger_interval)
        elif self.way is RepairWay.OURS:
            self._decide(queue)  # a dead replica is dropped once its successor is there

    def _end_copy(self, queue: int) -> None:
        """End a copy, and start copies that waited for its nodes or for the cluster."""
        copy = self._copies.pop(queue)
        self.cluster.add_load(copy.target, -1)
        for node in (copy.target, copy.source):
            self.cluster.machines[node].copies -= 1
        for node in (copy.target, copy.source):
            self._wake(node)
        while self._waiting and not self._all_busy:
            self._resume(heapq.heappop(self._waiting)[-1])

    @property
    def _all_busy(self) -> bool:
        return self.copies_in_all is not None and len(self._copies) >= self.copies_in_all

    def _busy_node(self, copy: Copy) -> int | None:
        """Return a node of the copy that may copy no more; `ALL_NODES` if the cluster may not."""
        if self._all_busy:
            return ALL_NODES
        machines = self.cluster.machines
        ends = (copy.target, copy.source)
        return next((n for n in ends if machines[n].copies >= self.copies_at_once), None)

    def _make_wait(self, node: int, copy: Copy) -> None:
        """Make a copy wait for a node.

        In our way, the queue with the fewest running replicas goes first, and of several such
        queues the smallest (Q5).  Of all orders, this order has the least time below.
        """
        self._order += 1
        is_ours = self.way is RepairWay.OURS
        spare = self.cluster.live[copy.queue] if is_ours else 0
        size = self.cluster.sizes[copy.queue] if is_ours else 0.0
        waiting = self._waiting if node == ALL_NODES else self.cluster.machines[node].waiting
        heapq.heappush(waiting, (spare, size, self._order, copy))

    def _wake(self, node: int) -> None:
        """Start waiting copies, until the node is busy or no copy waits."""
        machine = self.cluster.machines[node]
        while machine.up and machine.waiting and machine.copies < self.copies_at_once:
            self._resume(heapq.heappop(machine.waiting)[-1])

    def _resume(self, copy: Copy) -> None:
        busy = self._busy_node(copy)
        if busy is not None:
            self._make_wait(busy, copy)
            return
        self.cluster.add_load(copy.target, -1)
        if copy.queue in self.below_since and copy.queue not in self._copies:
            self._evaluate(copy.queue)

    def _add_live(self, queue: int) -> None:
        """Count one more running replica of a queue."""
        self.cluster.live[queue] += 1
        if self.cluster.live[queue] >= self.shape.replicas and queue in self.below_since:
            self._end_below(queue)

    def _end_below(self, queue: int) -> None:
        """End the time that a queue was below its target, and keep its length."""
        self.below_seconds.append(self.now - self.below_since.pop(queue))

    def _record(self) -> None:
        """Record the cluster at this moment; of each second, the last moment is kept."""
        moment = Moment(math.floor(self.now), len(self.below_since), len(self._copies))
        if self.moments and self.moments[-1].at == moment.at:
            self.moments[-1] = moment
        elif not self.moments or self.moments[-1] != moment:
            self.moments.append(moment)


def _number(name: str | None) -> int:
    assert name is not None
    return int(name[1:])
