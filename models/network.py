"""The three kinds of network a world may have.

What a partition cuts is delayed, not lost, unless the faults say so.
"""

from __future__ import annotations

from attrs import frozen


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
    """


@frozen
class FifoLinks:
    """One queue for each ordered pair of members, as TCP gives: received once, in order.

    What is under way to a member that crashes is lost with its connection.  Other loss is a
    fault with a budget (`Faults.losses`).
    """


Network = MessageSet | MessageBag | FifoLinks
