"""The facts by which a queue's leader evaluates the queue: the queue, the nodes, the settings.

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


WHOSE = Annotated[Variant, "the rules: the design's, those of the shipped broker, or ours"]
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

    name: Annotated[str, "its name, which no other node has"]
    zone: Annotated[str | None, "the zone of nodes that fail together; null: not known"] = None
    load: Annotated[float, AtLeast(0), "its load, as any number; less is better"] = 0.0
    running: Annotated[bool, "whether it runs, as the evaluating node sees it"] = True
    drained: Annotated[bool, "whether it is in maintenance, and takes no replica"] = False
    full: Annotated[bool, "whether its disk or memory is full, so it takes no replica (ours)"] = (
        False
    )


@frozen(kw_only=True)
class Target:
    """The number of replicas that each source asks for; null if it names none."""

    argument: Annotated[int | None, AtLeast(0), "the number in the queue's declaration"] = None
    policy: Annotated[int | None, AtLeast(0), "the number in the user's policy"] = None
    operator_policy: Annotated[int | None, AtLeast(0), "the number in the operator's policy"] = None
    configuration: Annotated[int | None, AtLeast(0), "the number in the node's settings"] = None


@frozen(kw_only=True)
class Settings:
    """Settings for all queues."""

    auto_remove: Annotated[
        bool | None,
        "whether to drop replicas that no longer count; null: no in real, yes in seed and ours",
    ] = None
    failure_interval: Annotated[
        float, AtLeast(0), "a replica that is away for so many seconds is lost (seed, ours)"
    ] = 60.0
    placement: Annotated[Placing, "how a node is chosen; real always chooses at random"] = (
        Placing.ZONE_AWARE
    )


@frozen(kw_only=True)
class Queue:
    """One replicated queue, as its leader sees it; the input of `reconcile.queue`."""

    name: Annotated[str, "the name of the queue"] = "queue"
    vhost: Annotated[str, "the virtual host of the queue"] = "/"
    kind: Annotated[Kind, "the kind of the queue"] = Kind.QUORUM
    members: Annotated[
        tuple[str, ...] | None, "the nodes that have a replica; null: the queue did not answer"
    ] = ()
    leader: Annotated[
        str | None, "the leader's node; null: no node leads; left out: the evaluating node leads"
    ] = EVALUATING
    target: Annotated[Target, "the number of replicas that each source asks for"] = Target()
    away: Annotated[
        Mapping[str, Annotated[float, AtLeast(0)]],
        "by node: for how many seconds the replica there has not answered",
    ] = field(factory=dict)
    behind: Annotated[tuple[str, ...], "nodes whose replica still catches up"] = ()
    stays: Annotated[tuple[str, ...], "nodes whose replica could not be removed"] = ()
    changing: Annotated[
        str | None, "a change of members that is not committed, in words; null: there is none"
    ] = None
    size: Annotated[int, AtLeast(0), "the bytes that a new replica copies"] = 0

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
        """Return how many failures the queue survives now; below 0, no majority runs.

        The majority is a majority of all listed replicas, including dead replicas.
        """
        return sum(map(self.runs, self.members)) - (len(self.members) // 2 + 1)

    @property
    def evaluator(self) -> str | None:
        """Return the node that evaluates: `at`, or else the leader.

        Without both, it is the first member that runs, or else the first member.
        """
        named = self.at or self.queue.leader
        if named or not self.members:
            return named or None
        return next((name for name in self.members if self.runs(name)), self.members[0])

    def runs(self, name: str) -> bool:
        """Return whether a node runs and its replica, if it has one, answers.

        The real variant looks at nodes only.  The replicas of the evaluating node and of the leader
        count as answering.
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
        setting = self.settings.auto_remove
        return self.variant is not Variant.REAL if setting is None else setting
