"""Failures of nodes in simulated days, and the three ways to keep the replicas of the queues."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast, Count
from joinproto.reconcile.queue import Variant

HOUR = 3600.0


@frozen(kw_only=True)
class Shape:
    """The size of the cluster, and its capacities."""

    queues: Annotated[Count, "how many queues"] = 100_000
    nodes: Annotated[Count, "how many nodes"] = 100
    zones: Annotated[Count, "how many racks; the nodes of a rack fail together"] = 10
    replicas: Annotated[Count, "the target of each queue"] = 3
    bytes_mean: Annotated[float, AtLeast(0), "the mean size of a queue; exponential"] = 100e6
    rate: Annotated[float, AtLeast(0), "bytes a second of one copy"] = 50e6
    link: Annotated[Count, "copies that a node's link carries at full rate"] = 25
    failure_interval: Annotated[
        float, AtLeast(0), "seconds that a node must be away before its replicas are replaced"
    ] = 60.0
    interval: Annotated[float, AtLeast(0), "seconds between two looks at a queue"] = 60.0
    trigger_interval: Annotated[float, AtLeast(0), "seconds from an event to a look"] = 10.0
    seed: Annotated[int, "the seed of sizes, places and failures"] = 1


class RepairWay(Enum):
    """A way to keep the replicas of the queues."""

    EVENTS = "events"
    PERIODIC = "periodic"
    OURS = "ours"

    @property
    def variant(self) -> Variant:
        return Variant.OURS if self is RepairWay.OURS else Variant.SEED


class Story(Enum):
    """The kind of failures; `failures` describes each kind."""

    RACK = "rack"
    ROLLING = "rolling"
    DAY = "day"


@frozen
class NodeChange:
    """At `at` seconds a node stops, or comes back."""

    at: float
    node: int
    up: bool


def failures(story: Story, shape: Shape, days: int) -> Iterator[NodeChange]:
    """Yield the failures: a rack fails at 6:00, and a rolling restart of all nodes begins at 14:00.

    `RACK`: only the first day's rack, which stays away.  `ROLLING`: only restarts.  `DAY`: both,
    and the rack is back at 10:00.  In a rolling restart, a node stops every two minutes, and is
    down for 90 seconds.
    """
    for day in range(days):
        begin = day * 24 * HOUR
        if story is not Story.ROLLING and (day == 0 or story is Story.DAY):
            rack = [node for node in range(shape.nodes) if node % shape.zones == day % shape.zones]
            for node in rack:
                yield NodeChange(begin + 6 * HOUR, node, up=False)
                if story is Story.DAY:
                    yield NodeChange(begin + 10 * HOUR, node, up=True)
        if story is not Story.RACK:
            for at, node in enumerate(range(shape.nodes)):
                down = begin + 14 * HOUR + at * 120
                yield NodeChange(down, node, up=False)
                yield NodeChange(down + 90, node, up=True)
