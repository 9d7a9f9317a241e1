"""The state of a primary: its backups' links, the messages that each must have, and those not
confirmed yet.

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
    """The manager that keeps the views, and names the primary."""

    BUILT_IN = "built in"  # the view chain: a view is written once it is in the chain
    OUTSIDE = "outside"  # no broker: a view stands in the stores of those that are in it


@frozen(kw_only=True)
class Who:
    """The constant part of a broker's state."""

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
    """A backup with a link.  `sent`, `done`: numbers of this link.

    `copying`: of each queue it asked for: the older messages still to be sent. `level`: of each
    queue of which it has, or is sent, all: the number that said so.
    """

    sent: int = 0
    done: int = 0
    copying: Mapping[str, MessageQueue] = Factory(dict)
    level: Mapping[str, int] = Factory(dict)

    @property
    def to_copy(self) -> int:
        """Return how many messages are still to be sent that were there before."""
        return sum(map(len, self.copying.values()))

    @property
    def asked(self) -> frozenset[str]:
        return frozenset((*self.copying, *self.level))

    def is_whole(self, queues: tuple[str, ...]) -> bool:
        """Return whether it has said that it has all of all these queues."""
        if not self.done:
            return False  # it has not even the wiring
        return all(name in self.level and self.level[name] <= self.done for name in queues)


@frozen(kw_only=True)
class Pending:
    """A confirmation that a client waits for.  `queues`: the replicated queues that it changed.

    `sent`: the number under which each backup was told; `written`: by our own store.
    """

    token: int
    queues: tuple[str, ...]
    sent: Mapping[str, int]
    written: bool


@frozen(kw_only=True)
class Proposal:
    """A view that is being written.  `written`: by the manager, or by our own store.

    `sent`: of a manager outside: under which number each of its members was told.
    """

    view: View
    written: bool = False
    sent: Mapping[str, int] = Factory(dict)


@frozen(kw_only=True)
class PrimaryState:
    """A primary, or one that recovers.  `view`: the last one that was written.

    `awaited`: backups that were up to date, and are not yet with this primary (H8); `deadline`: so
    long, in seconds; None if it no longer waits for those without a link.  `events`: how
    many declarations and deletions there were.
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
        """Return for each backup the queues of which there is more to copy."""
        return {name: tuple(one.copying) for name, one in self.followers.items() if one.copying}

    def coming(self, backup: str, queue: str, count: int) -> tuple[Message, ...]:
        """Return the messages that are copied next, `count` at most: H5."""
        line = self.followers[backup].copying[queue]
        return line.split(count, back=self.who.order is Order.LIFO)[1]

    @property
    def recovers(self) -> bool:
        return bool(self.awaited)

    @property
    def members(self) -> frozenset[str]:
        """Return the brokers that may be promoted now: by the view that is written, or by the next
        one.
        """
        coming = () if self.proposal is None else self.proposal.view.members
        return frozenset((*self.view.members, *coming)) - {self.who.me}

    @property
    def required(self) -> frozenset[str]:
        """Return the backups without which nothing is confirmed: H4."""
        level = frozenset(name for name, one in self.followers.items() if one.level)
        if self.who.rules.records_drops:
            return level | self.members
        # Not ours: one that is gone is not asked, whether the others know of it or not.
        early = self.awaited if self.who.rules.holds_early else frozenset()
        return level | (self.members & self.followers.keys()) | early
