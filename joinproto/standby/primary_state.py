"""The state of a primary: its backups' links, what each must still get, and what is unconfirmed.

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
    OUTSIDE = "outside"  # not a broker: a view is written once all its members have stored it


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
    """A backup with a link.

    `sent`, `done`: the last number on this link that was sent, and that the backup has done.
    `copying`: for each queue that it asked for, the older messages still to be sent.  `level`: for
    each queue whose older messages were all sent, the number of the message that says so.
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
            return False  # the backup has not reported the wiring yet
        return all(name in self.level and self.level[name] <= self.done for name in queues)


@frozen(kw_only=True)
class Pending:
    """A confirmation that a client waits for.

    `queues`: the replicated queues that the request changed.  `sent`: for each backup, the number
    on its link up to which it must have done all.  `written`: our own store has the changes.
    """

    token: int
    queues: tuple[str, ...]
    sent: Mapping[str, int]
    written: bool


@frozen(kw_only=True)
class Proposal:
    """A view that is being written.

    `written`: our own store has it, and so has the manager if it is built in.  `sent`: with a
    manager outside, the number under which each member with a link was told of the view.
    """

    view: View
    written: bool = False
    sent: Mapping[str, int] = Factory(dict)


@frozen(kw_only=True)
class PrimaryState:
    """A primary, also while it recovers.  `view`: the last view that was written.

    `awaited`: backups that were up to date and have not caught up with this primary yet (H8).
    `deadline`: in seconds, until when it waits for those without a link; None if it no longer does.
    `events`: how many declarations and deletions there were.
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
        """Return, for each backup, the queues of which messages are still to be copied."""
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
        """Return the others that are in the written view, or in the view that is being written."""
        coming = () if self.proposal is None else self.proposal.view.members
        return frozenset((*self.view.members, *coming)) - {self.who.me}

    @property
    def required(self) -> frozenset[str]:
        """Return the backups that must have a change before it is confirmed: H4."""
        level = frozenset(name for name, one in self.followers.items() if one.level)
        if self.who.rules.records_drops:
            return level | self.members
        # Unlike our rules, the others do not count a backup that is gone, recorded or not.
        early = self.awaited if self.who.rules.holds_early else frozenset()
        return level | (self.members & self.followers.keys()) | early
