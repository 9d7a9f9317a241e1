"""The three kinds of network a world may have.

Messages that a partition cuts are delayed, not lost, unless the faults say so.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from joinproto.check.problems import ModelProblem, must

WhenFull = Literal["wait", "lose"]
"""A step that sends on a full link is not possible ("wait"), or its message is lost ("lose")."""

Broadcasts = Literal["one", "each"]
"""With "one", a broadcast is one message; with "each", it is one message to each other member."""

_CAPACITY = must(
    lambda value: value is None or (isinstance(value, int) and value > 0),
    "a whole number from 1 on, or None: links without a bound",
)
_WHEN_FULL = must(("wait", "lose").__contains__, "wait or lose")


@frozen
class MessageSet:
    """A set that only grows.

    A message in the set may be received at any time, any number of times, or never; so faults that
    lose or double messages are refused.  This network of most protocol models is the cheapest to
    explore.

    `with_sender`: a message says which member sent it.  If not, the same content to the same
    member is one message, whichever member sent it, and arrives as `Message(None, content)`; a
    world with partitions refuses that.  `broadcasts`: with "one", the default for messages with a
    sender, a broadcast is one message to all others, different from the same content sent to one
    member; with "each", it is one message to each other member.
    """

    with_sender: bool = field(
        default=True, validator=must(lambda value: isinstance(value, bool), "True or False")
    )
    broadcasts: Broadcasts = field(validator=must(("one", "each").__contains__, "one or each"))

    @broadcasts.default
    def _usual(self) -> Broadcasts:
        return "one" if self.with_sender else "each"


@frozen
class MessageBag:
    """A multiset: each message is received at most once, and messages in any order.

    Loss and duplication are faults with budgets (`Faults.losses`, `Faults.duplicates`).
    `capacity`: this many messages at most are under way from one member to another.
    """

    capacity: int | None = field(default=None, validator=_CAPACITY)
    when_full: WhenFull = field(default="wait", validator=_WHEN_FULL)


@frozen
class FifoLinks:
    """One queue for each ordered pair of members, as with TCP: messages are received in order.

    Messages under way to a member that crashes are lost with its connection.  Other loss is a
    fault with a budget (`Faults.losses`).  `capacity`: this many messages at most are in one queue.
    """

    capacity: int | None = field(default=None, validator=_CAPACITY)
    when_full: WhenFull = field(default="wait", validator=_WHEN_FULL)


Network = MessageSet | MessageBag | FifoLinks


def too_full(name: str) -> ModelProblem:
    """Return the error for a member whose first start sends more than a link holds."""
    return ModelProblem(
        f"member {name}: start() sends more than a link holds",
        next='give the network a larger capacity, or when_full="lose"',
    )
