"""What a queue's leader knows when it evaluates the queue: the queue, the nodes, the settings.

Source: reconciliation, Q1 to Q4.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated

from attrs import field, frozen

from joinproto.codec.json_form import AtLeast


class Variant(Enum):
    """The variant of the rules: the design's, those of the shipped broker, or ours."""

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


WHOSE = Annotated[Variant, "which rules: the design's, those of the broker that shipped, ours"]
EVALUATING = ""
"""Stands for the leader's name: the node that evaluates the queue leads it."""


class Kind(Enum):
    """The kind of replicated queue (Q6); the rules are the same for both."""

    QUORUM = "quorum"
    STREAM = "stream"


class Placing(Enum):
    """The placement of a replica (Q3)."""

    RANDOM = "random"
    LEAST_LOADED = "least-loaded"
    ZONE_AWARE = "zone-aware"


@frozen(kw_only=True)
class Node:
    """A node of the cluster."""

    name: Annotated[str, "its name, once in the list"]
    zone: Annotated[str | None, "what fails together with it"] = None
    load: Annotated[float, AtLeast(0), "any number; less is better"] = 0.0
    running: Annotated[bool, "seen by the evaluating node"] = True
    drained: Annotated[bool, "in maintenance: takes no replica"] = False
    full: Annotated[bool, "its disk: takes no replica (ours)"] = False


@frozen(kw_only=True)
class Target:
    """The number of replicas that each source asks for; null if it names none."""

    argument: Annotated[int | None, AtLeast(0), "of the queue, by its declaration"] = None
    policy: Annotated[int | None, AtLeast(0), "the user's"] = None
    operator_policy: Annotated[int | None, AtLeast(0), "the operator's"] = None
    configuration: Annotated[int | None, AtLeast(0), "of the node"] = None


@frozen(kw_only=True)
class Settings:
    """Settings for all queues."""

    auto_remove: Annotated[
        bool | None, "drop replicas that count no more; null: real no, seed and ours yes"
    ] = None
    failure_interval: Annotated[
        float, AtLeast(0), "seconds away until a replica counts as lost (seed, ours)"
    ] = 60.0
    placement: Annotated[Placing, "how the node is chosen; real: random"] = Placing.ZONE_AWARE


@frozen(kw_only=True)
class Queue:
    """One replicated queue, as its leader sees it; the input of `reconcile.queue`."""

    name: Annotated[str, "for the answer's words"] = "queue"
    vhost: Annotated[str, "where it is"] = "/"
    kind: Annotated[Kind, "of what there are replicas"] = Kind.QUORUM
    members: Annotated[
        tuple[str, ...] | None, "nodes that have a replica; null: asked, and no answer"
    ] = ()
    leader: Annotated[
        str | None, "the leader's node; null: no node leads; left out: the evaluating one"
    ] = EVALUATING
    target: Annotated[Target, "how many are wanted, and by what"] = Target()
    away: Annotated[
        Mapping[str, Annotated[float, AtLeast(0)]],
        "seconds for which the replica on this node has not answered",
    ] = field(factory=dict)
    behind: Annotated[tuple[str, ...], "nodes whose replica still catches up"] = ()
    stays: Annotated[tuple[str, ...], "nodes whose replica could not be removed"] = ()
    changing: Annotated[str | None, "a change of members that is not committed, in words"] = None
    size: Annotated[int, AtLeast(0), "bytes that a new replica copies"] = 0

    @property
    def title(self) -> str:
        return titled(self.name, self.vhost)


def titled(name: str, vhost: str) -> str:
    """Return a queue's name, with its virtual host unless that is `/`."""
    return name if vhost == "/" else f"{name} in {vhost}"


@frozen(kw_only=True)
class Situation:
    """One queue at one moment: the input of an evaluation."""

    queue: Queue
    nodes: tuple[Node, ...]
    settings: Settings = Settings()
    variant: Variant = Variant.OURS
    at: str | None = None
    dice: int = 0
    """A number; a random placement takes the candidate at this index, modulo their number."""

    @property
    def members(self) -> tuple[str, ...]:
        return self.queue.members or ()

    @property
    def spare(self) -> int:
        """Return how many failures the queue survives now; below 0 no majority runs.

        The majority is one of all listed replicas, including the dead ones.
        """
        return sum(map(self.runs, self.members)) - (len(self.members) // 2 + 1)

    @property
    def evaluates(self) -> str | None:
        """Return the node that evaluates: the leader, unless stated otherwise.

        If no leader is named, it is the first member that runs, or else the first member.
        """
        told = self.at or self.queue.leader
        if told or not self.members:
            return told or None
        return next((name for name in self.members if self.runs(name)), self.members[0])

    def runs(self, name: str) -> bool:
        """Return whether a node runs and, if it has a replica, whether its replica answers.

        The real variant looks at nodes only; the replica of the evaluating node always answers.
        """
        for node in self.nodes:
            if node.name == name:
                sees_nodes_only = self.variant is Variant.REAL or name in (
                    self.at,
                    self.queue.leader,
                )
                return node.running and (sees_nodes_only or not self.queue.away.get(name))
        return False

    @property
    def removes(self) -> bool:
        told = self.settings.auto_remove
        return self.variant is not Variant.REAL if told is None else told
