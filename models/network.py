"""The three kinds of network a world may have.

What a partition cuts is delayed, not lost, unless the faults say so.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from attrs.validators import ge, in_, optional

from models.problems import ModelProblem

WhenFull = Literal["wait", "lose"]
"""A step that sends on a full link is not possible; or what is sent is lost there."""


@frozen
class MessageSet:
    """A set that only grows: loss, duplication and reordering come for free.

    A message in the set may be received at any time, any number of times, or never; so no
    explicit loss is needed, and none is allowed.  Cheapest to explore, and the classic of
    protocol models.
    """


@frozen
class MessageBag:
    """A multiset: a message is received once, in any order.

    Loss and duplication are faults with budgets (`Faults.losses`, `Faults.duplicates`).
    `capacity`: so many messages at most are under way from one member to another.
    """

    capacity: int | None = field(default=None, validator=optional(ge(1)))
    when_full: WhenFull = field(default="wait", validator=in_(("wait", "lose")))


@frozen
class FifoLinks:
    """One queue for each ordered pair of members, as TCP gives: received once, in order.

    What is under way to a member that crashes is lost with its connection.  Other loss is a
    fault with a budget (`Faults.losses`).  `capacity`: so many messages at most are in one queue.
    """

    capacity: int | None = field(default=None, validator=optional(ge(1)))
    when_full: WhenFull = field(default="wait", validator=in_(("wait", "lose")))


Network = MessageSet | MessageBag | FifoLinks


def too_full(name: str) -> ModelProblem:
    """Return what is wrong where a member cannot even start."""
    return ModelProblem(
        f"member {name}: start() sends more than a link holds",
        next='give the network a larger capacity, or when_full="lose"',
    )
