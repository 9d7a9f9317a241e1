"""The state of a primary: the links of its backups, their copies, and unconfirmed requests.

Source: hot standby, H4, H5, H8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import Factory, frozen

from joinproto.standby.broker import Variant
from joinproto.standby.catch_up import Message, Order
from joinproto.standby.messages import View
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replica_state import ReplicaState
from joinproto.standby.replicates import Default
from joinproto.standby.variants import RULES, VariantRules


class Keeper(Enum):
    """The manager that names the primary: built into the brokers, or outside them."""

    BUILT_IN = "built in"  # it keeps the views: a view is written once the chain has it
    OUTSIDE = "outside"  # the brokers keep the views: a view is written once its members have it


@frozen(kw_only=True)
class Who:
    """The name and the settings of a broker: the constant part of its state.

    `keeper`: where the manager is.  `default`: the level of a queue that does not name one.
    `order`: the order in which the broker, as a primary, copies older messages.
    """

    me: str
    variant: Variant = Variant.OURS
    keeper: Keeper = Keeper.BUILT_IN
    default: Default = Default.ALL
    order: Order = Order.LIFO

    @property
    def rules(self) -> VariantRules:
        return RULES[self.variant]


@frozen(kw_only=True)
class Follower:
    """A backup with a link.

    `sent`, `done`: the last number on this link that was sent, and that the backup has done.
    `copying`: for each queue that it asked for and whose copy is not complete, the older messages
    still to be sent.  `level`: for each queue whose older messages were all sent, the number of the
    message `CaughtUp`.
    """

    sent: int = 0
    done: int = 0
    copying: Mapping[str, MessageQueue] = Factory(dict)
    level: Mapping[str, int] = Factory(dict)

    @property
    def to_copy(self) -> int:
        """Return how many older messages are still to be sent."""
        return sum(map(len, self.copying.values()))

    @property
    def asked(self) -> frozenset[str]:
        return frozenset((*self.copying, *self.level))

    def is_whole(self, queues: tuple[str, ...]) -> bool:
        """Return whether the backup has reported that it has everything of all these queues."""
        if not self.done:
            return False  # the backup has not reported that it has the wiring
        return all(name in self.level and self.level[name] <= self.done for name in queues)


@frozen(kw_only=True)
class Pending:
    """A request that is not confirmed yet.

    `queues`: the replicated queues that the request changed.  `sent`: for each backup, the number
    up to which it must have done the messages on its link.  `written`: our own store has the
    changes, or the request has no durable changes.
    """

    token: int
    queues: tuple[str, ...]
    sent: Mapping[str, int]
    written: bool


@frozen(kw_only=True)
class Proposal:
    """A view that is being written.

    `written`: our own store has the view, and so has the manager if it is built in.  `sent`: with a
    manager outside, the number of the message with the view on each member's link.
    """

    view: View
    written: bool = False
    sent: Mapping[str, int] = Factory(dict)


@frozen(kw_only=True)
class PrimaryState:
    """A primary, also while it recovers.  `view`: the last view that was written.

    `awaited`: backups that were up to date and have not caught up with this primary yet (H8).
    `deadline`: the time, in seconds, until which it waits for awaited backups without a link; None
    if it no longer does.  `events`: the number of declarations and deletions.
    """

    who: Who
    replica: ReplicaState
    view: View
    awaited: frozenset[str] = frozenset()
    deadline: float | None = None
    proposal: Proposal | None = None
    followers: Mapping[str, Follower] = Factory(dict)
    events: int = 0
    pending: tuple[Pending, ...] = ()

    @property
    def copies(self) -> dict[str, tuple[str, ...]]:
        """Return, for each backup, the queues with messages that must still be copied."""
        return {name: tuple(one.copying) for name, one in self.followers.items() if one.copying}

    def coming(self, backup: str, queue: str, count: int) -> tuple[Message, ...]:
        """Return the messages of a queue that are copied to a backup next, at most `count`: H5."""
        line = self.followers[backup].copying[queue]
        return line.split(count, back=self.who.order is Order.LIFO)[1]

    @property
    def recovers(self) -> bool:
        return bool(self.awaited)

    @property
    def members(self) -> frozenset[str]:
        """Return the other members of the written view and of the view that is being written."""
        coming = () if self.proposal is None else self.proposal.view.members
        return frozenset((*self.view.members, *coming)) - {self.who.me}

    @property
    def required(self) -> frozenset[str]:
        """Return the backups that must have a change before it is confirmed: H4."""
        level = frozenset(name for name, one in self.followers.items() if one.level)
        if self.who.rules.records_drops:
            return level | self.members
        # A variant that does not record drops does not count a backup that is gone.
        early = self.awaited if self.who.rules.holds_early else frozenset()
        return level | (self.members & self.followers.keys()) | early
