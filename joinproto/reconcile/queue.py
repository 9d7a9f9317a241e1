"""What a queue's leader knows when it evaluates: the queue, the nodes, the settings.

Source: reconciliation, Q1 to Q4.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen


class Variant(Enum):
    """Whose rules: the design's, those of the broker that shipped, ours."""

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


class Kind(Enum):
    """Of what there are replicas (Q6); the rules are the same for both."""

    QUORUM = "quorum"
    STREAM = "stream"


class Placing(Enum):
    """Where a replica goes (Q3)."""

    RANDOM = "random"
    LEAST_LOADED = "least-loaded"
    ZONE_AWARE = "zone-aware"


@frozen(kw_only=True)
class Node:
    """A node of the cluster."""

    name: str = field(metadata={"about": "its name, once in the list"})
    zone: str | None = field(default=None, metadata={"about": "what fails together with it"})
    load: float = field(default=0.0, metadata={"about": "any number; less is better", "least": 0})
    running: bool = field(default=True, metadata={"about": "seen by the evaluating node"})
    drained: bool = field(default=False, metadata={"about": "in maintenance: takes no replica"})
    full: bool = field(default=False, metadata={"about": "its disk: takes no replica (ours)"})


@frozen(kw_only=True)
class Target:
    """Who wants how many replicas; null: says nothing."""

    argument: int | None = field(
        default=None, metadata={"about": "of the queue, by who declared it", "least": 0}
    )
    policy: int | None = field(default=None, metadata={"about": "the user's", "least": 0})
    operator_policy: int | None = field(
        default=None, metadata={"about": "the operator's", "least": 0}
    )
    configuration: int | None = field(default=None, metadata={"about": "of the node", "least": 0})


@frozen(kw_only=True)
class Settings:
    """What holds for all queues."""

    auto_remove: bool | None = field(
        default=None,
        metadata={"about": "drop replicas of nodes that left; null: real no, seed and ours yes"},
    )
    failure_interval: float = field(
        default=60.0,
        metadata={"about": "seconds away until a replica counts as lost (seed, ours)", "least": 0},
    )
    placement: Placing = field(
        default=Placing.ZONE_AWARE, metadata={"about": "who chooses the node; real: random"}
    )


@frozen(kw_only=True)
class Queue:
    """One replicated queue, as its leader sees it; the input of `reconcile.queue`."""

    name: str = field(default="queue", metadata={"about": "for the answer's words"})
    vhost: str = field(default="/", metadata={"about": "where it is"})
    kind: Kind = field(default=Kind.QUORUM, metadata={"about": "of what there are replicas"})
    members: tuple[str, ...] | None = field(
        default=(), metadata={"about": "nodes that have a replica; null: asked, and no answer"}
    )
    leader: str | None = field(
        default=None, metadata={"about": "the leader's node; null: the evaluating one"}
    )
    target: Target = field(default=Target(), metadata={"about": "who wants how many"})
    away: Mapping[str, float] = field(
        factory=dict,
        metadata={"about": "seconds for which the replica on this node has not answered"},
    )
    behind: tuple[str, ...] = field(
        default=(), metadata={"about": "nodes whose replica still catches up"}
    )
    changing: str | None = field(
        default=None, metadata={"about": "a change of members that is not committed, in words"}
    )
    size: int = field(default=0, metadata={"about": "bytes that a new replica copies", "least": 0})


@frozen(kw_only=True)
class Situation:
    """One queue at one moment: everything an evaluation looks at."""

    queue: Queue
    nodes: tuple[Node, ...]
    settings: Settings = Settings()
    variant: Variant = Variant.OURS
    at: str | None = None
    dice: int = 0
    """Which of the candidates a random placement takes: the rest of its division."""

    @property
    def members(self) -> tuple[str, ...]:
        return self.queue.members or ()

    @property
    def evaluates(self) -> str | None:
        """Return the node that evaluates: the leader, where nobody says otherwise."""
        return self.at or self.queue.leader or (self.members[0] if self.members else None)

    @property
    def removes(self) -> bool:
        told = self.settings.auto_remove
        return self.variant is not Variant.REAL if told is None else told
