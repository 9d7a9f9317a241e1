"""A candidate: one store's facts that matter for the choice of the latest.

A store of joinproto says it by its `record`.  Stores of other brokers say less, and say it in the
fields below `record`; a field that a format lacks stays None, and None proves nothing.
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


def called(member: str) -> str:
    """Return a member's name as a person reads it: of a UUID, which says nothing, the beginning."""
    is_uuid = len(member) == UUID_CHARACTERS and member.count("-") == 4
    return short(member) if is_uuid else member


def alike(keyed: Iterable[tuple[object, str]]) -> set[str]:
    """Return the names that share their key with another name."""
    names: dict[object, set[str]] = {}
    for key, name in keyed:
        names.setdefault(key, set()).add(name)
    return set().union(*(some for some in names.values() if len(some) > 1))


class State(Enum):
    """The state of a directory.  Only the first four are the note's; the rest say less."""

    NONE = "none"  # no store here
    EMPTY = "empty"  # a store without a cluster
    CLEAN = "clean"
    DIRTY = "dirty"
    UNFINISHED = "unfinished"  # an update into it was cut off: its numbers mean nothing
    UNREADABLE = "unreadable"  # the system gave an error, or a part of it is not there
    CORRUPT = "corrupt"  # not as it was written
    UNKNOWN = "not-read"  # of a program whose stores are not read here
    NEWER = "newer"  # written by a newer version: not corrupt, and not readable here
    IN_USE = "in-use"  # a process has it open

    @property
    def is_readable(self) -> bool:
        """Return whether the store's facts can be believed."""
        return self in (State.EMPTY, State.CLEAN, State.DIRTY, State.UNFINISHED)


@frozen(kw_only=True)
class LastView:
    """The nodes that a store of another broker believed to be running when it stopped.

    `members`: by the same names as `member` of the other candidates.  `number`: orders the views of
    one cluster, larger is later; None if this format's views have no order.  `id`: equal for all
    stores that stopped in the same view; None if the format has none.  `step`: orders two views
    that have a member in common, and no others (Galera).  `is_forced`: an operator made this view,
    without a majority of the one before.
    """

    members: frozenset[str]
    number: int | None = None
    id: str | None = None
    step: int | None = None
    is_forced: bool = False


@frozen(kw_only=True)
class Candidate:
    """One store among those that are compared.

    `name`: where it lies, different for each candidate.  `member`: "" if it does not say.
    `cluster`: its initial signature.  `record`: of a store of joinproto.

    The rest is for other brokers.  `seq`: the count of its frames, comparable within one cluster.
    `final`: the final signature of a clean store.  `stopped_last`: it says that no other member was
    running when it stopped; `may_be_last`: it does not rule this out; `lost_view`: it was not
    stopped in order, and its last view cannot be read: it may have been on any side.
    `history`: number to hash of the frame with this number, those it still has; None if no file of
    it is here.  `node`: the nodes it waits for at its start, where the broker keeps such a list
    under names that never change (RabbitMQ).
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
        """Return the member with its store, of a store of joinproto that can be read."""
        if self.record is None or not self.state.is_readable:
            return None
        return Seat(self.member, self.record.store_id)
