"""The simulated cluster: which nodes have a replica, run, copy, or could take another replica."""

from __future__ import annotations

import heapq
import random

from attrs import define, field, frozen

from joinproto.cli.at_scale.stories import Shape
from joinproto.reconcile.queue import Node


@frozen
class Copy:
    """A replica that is being copied, or waits to be copied."""

    queue: int
    source: int
    target: int


@define
class Machine:
    """A node.  `waiting`: a heap of the copies that wait until a copy of this node ends.

    `dropped`: how many of its replicas were removed since it stopped, and replaced on other nodes.
    `load`: the number of its replicas, and of the replicas that are copied or will be copied to it.
    """

    name: str
    zone: int
    up: bool = True
    down_since: float = 0.0
    load: int = 0
    copies: int = 0
    dropped: int = 0
    waiting: list[tuple[int, float, int, Copy]] = field(factory=list)


@define
class Cluster:
    """The nodes and queues of the cluster, by number.

    `members[q]`: the nodes of queue q.  `sizes[q]`: its bytes.  `live[q]`: how many of its replicas
    run.  `queues_on[n]`: the queues that have a replica on node n.
    """

    shape: Shape
    machines: list[Machine]
    members: list[list[int]]
    sizes: list[float]
    queues_on: list[set[int]]
    live: list[int]
    _by_load: list[list[tuple[int, int]]] = field(factory=list)

    @classmethod
    def of(cls, shape: Shape) -> Cluster:
        """Return a cluster in which the replicas of each queue are in different zones."""
        dice = random.Random(shape.seed)
        machines = [Machine(f"n{at:04}", at % shape.zones) for at in range(shape.nodes)]
        by_zone = [range(zone, shape.nodes, shape.zones) for zone in range(shape.zones)]
        members = [
            [dice.choice(by_zone[zone]) for zone in dice.sample(range(shape.zones), shape.replicas)]
            for _ in range(shape.queues)
        ]
        sizes = [dice.expovariate(1 / shape.bytes_mean) for _ in members]
        queues_on: list[set[int]] = [set() for _ in machines]
        for queue, nodes in enumerate(members):
            for node in nodes:
                queues_on[node].add(queue)
        for node, queues in enumerate(queues_on):
            machines[node].load = len(queues)
        found = cls(shape, machines, members, sizes, queues_on, [shape.replicas] * shape.queues)
        found._by_load = [[(machines[node].load, node) for node in zone] for zone in by_zone]
        for heap in found._by_load:
            heapq.heapify(heap)
        return found

    def shortlist(self, queue: int) -> tuple[Node, ...]:
        """Return the queue's nodes, and each zone's least loaded running node without a replica.

        A choice by zone and load always takes one of these nodes.
        """
        own = self.members[queue]
        nodes = [self._node(node) for node in own]
        for zone in range(self.shape.zones):
            best = self._least_loaded(zone, own)
            if best is not None:
                nodes.append(self._node(best))
        return tuple(nodes)

    def add(self, queue: int, node: int) -> None:
        self.members[queue].append(node)
        self.queues_on[node].add(queue)

    def drop(self, queue: int, node: int) -> None:
        self.members[queue].remove(node)
        self.queues_on[node].remove(queue)
        self.machines[node].dropped += 1
        self.add_load(node, -1)

    def add_load(self, node: int, more: int) -> None:
        """Add `more`, which may be negative or 0, to the load of a node."""
        machine = self.machines[node]
        machine.load += more
        heapq.heappush(self._by_load[machine.zone], (machine.load, node))

    def _least_loaded(self, zone: int, own: list[int]) -> int | None:
        """Return the zone's least loaded node that runs and is not in `own`; None without one."""
        heap, aside, found = self._by_load[zone], [], None
        while heap:
            load, node = heap[0]
            machine = self.machines[node]
            if not machine.up or machine.load != load:
                heapq.heappop(heap)  # outdated: a change of load, or a return, pushes a new entry
            elif node in own:
                aside.append(heapq.heappop(heap))
            else:
                found = node
                break
        for entry in aside:
            heapq.heappush(heap, entry)
        return found

    def _node(self, at: int) -> Node:
        machine = self.machines[at]
        return Node(
            name=machine.name, zone=str(machine.zone), load=machine.load, running=machine.up
        )
