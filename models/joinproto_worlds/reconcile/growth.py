"""Worlds of one queue that grows to its target, or, as the shipped broker counts, without limit.

Source: reconciliation, Q1; the shipped broker's growth without limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import always_each, sometimes_one
from joinproto.check.world import World
from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.queue import Node, Queue, Situation, Target, Variant
from joinproto.reconcile.tables import Action
from joinproto_worlds.mutations.named import mutated

TARGET = 3


@frozen
class Add:
    """Choice: an evaluation that adds a replica."""

    node: str

    def __str__(self) -> str:
        return f"evaluate: add {self.node}"


@define
class Leader:
    """The leader of one queue, in a cluster whose nodes all run."""

    nodes: tuple[str, ...]
    target: Target
    variant: Variant
    mutant: str | None
    members: frozenset[str] = frozenset("a")

    @mutated
    def choices(self) -> Iterator[Add]:
        for dice in range(len(self.nodes)):
            situation = Situation(
                queue=Queue(members=tuple(sorted(self.members)), target=self.target),
                nodes=tuple(Node(name=name) for name in self.nodes),
                variant=self.variant,
                at="a",
                dice=dice,
            )
            found = evaluate(situation)
            if found.action is Action.ADD:
                yield Add(found.nodes[0])

    def receive(self, event: Any) -> Any:
        if not isinstance(event, Add) or event.node in self.members:
            return NOT_ENABLED
        self.members |= {event.node}
        return None

    def shows(self) -> int:
        return len(self.members)


def build(
    members: int = 6,
    mutant: str | None = None,
    *,
    variant: str = "real",
    policy: int | None = None,
) -> World:
    """Return the world of a queue in a cluster of `members` nodes.

    Mutant `argument-is-a-pair`: the target is the queue's argument also for the real rules, which
    take it for more than any number.
    """
    is_pair = mutant == "argument-is-a-pair"
    is_argument = is_pair or Variant(variant) is not Variant.REAL
    target = (
        Target(argument=TARGET, policy=policy)
        if is_argument
        else Target(configuration=TARGET, policy=policy)
    )
    mutant = None if is_pair else mutant
    names = tuple("abcdefghij"[:members])
    return World(
        name="reconcile-growth",
        members={"leader": partial(Leader, names, target, Variant(variant), mutant)},
        properties=[
            always_each("no more than wanted", lambda size: size <= TARGET),
            sometimes_one("as many as wanted", lambda size: size == TARGET),
        ],
        about="a queue grows to its target, and no further",
    )
