"""A candidate: the facts of one store that matter for the choice of the latest store.

The facts of a joinproto store are in `record`.  Stores of other brokers have fewer facts, in the
fields below `record`.  A field that a format lacks stays None, and None proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from attrs import field, frozen

from joinproto.join.ids import short
from joinproto.join.store import StoreRecord
from joinproto.join.view import Seat
from joinproto.pick.wait_graph import NodeList

UUID_CHARACTERS = 36


def shown_name(member: str) -> str:
    """Return a member's name for a person to read; a UUID is cut to its beginning."""
    is_uuid = len(member) == UUID_CHARACTERS and member.count("-") == 4
    return short(member) if is_uuid else member


def sharing_key(keyed: Iterable[tuple[object, str]]) -> set[str]:
    """Return the names that share their key with another name."""
    names: dict[object, set[str]] = {}
    for key, name in keyed:
        names.setdefault(key, set()).add(name)
    return set().union(*(some for some in names.values() if len(some) > 1))


class State(Enum):
    """The state of a directory.  Only the first four come from the join-protocol note."""

    NONE = "none"  # no store here
    EMPTY = "empty"  # a store without a cluster
    CLEAN = "clean"
    DIRTY = "dirty"
    UNFINISHED = "unfinished"  # an update was interrupted, so its numbers prove nothing
    UNREADABLE = "unreadable"  # the system returned an error, or a part of the store is missing
    CORRUPT = "corrupt"  # its content is not as it was written
    UNKNOWN = "not-read"  # a store of a program whose stores joinproto cannot read
    NEWER = "newer"  # written by a newer version: not corrupt, and not readable here
    IN_USE = "in-use"  # a process has it open

    @property
    def is_readable(self) -> bool:
        """Return whether the store's facts can be read; those of `UNFINISHED` prove nothing."""
        return self in (State.EMPTY, State.CLEAN, State.DIRTY, State.UNFINISHED)


@frozen(kw_only=True)
class LastView:
    """The nodes that ran when a node of another broker stopped, as that node's store has them.

    `members`: the same names as in `Candidate.member`.  `number`: orders the views of one cluster,
    larger is later; None if this format's views have no order.  `id`: equal for all stores that
    stopped in the same view; None if the format has no ids.  `step`: orders two views that have a
    member in common, and no other views (Galera).  `is_forced`: an operator made this view, without
    a majority of the view before.
    """

    members: frozenset[str]
    number: int | None = None
    id: str | None = None
    step: int | None = None
    is_forced: bool = False


@frozen(kw_only=True)
class Candidate:
    """One of the stores that are compared.

    `name`: the store's path, different for each candidate.  `member`: "" if the store does not name
    its member.  `cluster`: its initial signature.  `record`: set for stores of joinproto only.

    The rest is for other brokers.  `seq`: the count of its frames, comparable within one cluster.
    `final`: the final signature of a clean store.  `stopped_last`: the store says that no other
    member was running when its member stopped.  `may_be_last`: the store does not rule out that its
    member stopped last.  `lost_view`: its member was not stopped in order, and its last view cannot
    be read, so it may have been on any side of a partition.  `history`: the hash of each frame that
    the store still has, by number; None if no file has these.  `node`: the node's list of other
    nodes, if the broker keeps one under names that never change (RabbitMQ).
    """

    name: str
    state: State
    member: str = ""
    cluster: str | None = None
    record: StoreRecord | None = None
    seq: int | None = None
    final: str | None = None
    last_view: LastView | None = None
    stopped_last: bool = False
    may_be_last: bool = False
    lost_view: bool = False
    history: Mapping[int, bytes] | None = field(default=None, repr=False)
    node: NodeList | None = None

    @property
    def seat(self) -> Seat | None:
        """Return the member and its store id; None unless this is a readable joinproto store."""
        if self.record is None or not self.state.is_readable:
            return None
        return Seat(self.member, self.record.store_id)
