"""Views: the links of the chain that is a cluster's history.

Founding, joining, leaving, the orderly shutdown and each kind of restart choose the next view.
Every `View` is well formed by itself.  `verify_successor` checks that it may follow a given parent,
and `verify_id` that its id is made of its facts.

Source: join protocol, 3.1; rules I1, I3, S1, S2.  `docs/protocol.md`, "Views", says why some
rules are stricter here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from functools import lru_cache
from itertools import pairwise

from attrs import asdict, frozen

from joinproto.codec.malformed import (
    Malformed,
    Verbatim,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.join.ids import Digest, Name, ViewId, by_hash, short


class Kind(Enum):
    """The purpose of a view."""

    FOUND = "found"  # a new cluster (I3); its id is the initial signature
    CHANGE = "change"  # members join, leave or are given up
    CLOSE = "close"  # the orderly shutdown; its id is the final signature
    RESTART = "restart"  # from clean stores, or after total failure (I4 to I8, R3)


@frozen(cache_hash=True, order=True)
class Seat:
    """A member together with its store.

    So a member whose disk was wiped or exchanged has a new seat.  Seats are
    ordered by the members' names.
    """

    member: str
    store_id: str

    def __attrs_post_init__(self) -> None:
        require_text("member", self.member)
        require_text("store_id", self.store_id)


def names_of(seats: Iterable[Seat]) -> frozenset[str]:
    """Return the names of the members that have these seats."""
    return frozenset({seat.member for seat in seats})


@lru_cache(maxsize=256)
def shared(seats: frozenset[Seat]) -> frozenset[Seat]:
    """Return a set equal to `seats`, usually the same object for equal arguments.

    Members change rarely, so most of a lineage's thousand views have the same seats.  One object
    for all of them takes a tenth of the memory.
    """
    return seats


@frozen
class Position:
    """A frame: the view it was sent in, and its number `seq`, from 1 at the founding.

    Equal positions are equal data: all frames up to this one, on the chain that ends with this
    view.  An equal `seq` in different views proves nothing.  Before the first frame: None.
    """

    view: ViewId
    seq: int

    def __attrs_post_init__(self) -> None:
        _require_id("position", self.view)
        require_int("seq", self.seq, at_least=1)


@frozen(kw_only=True, cache_hash=True)
class Facts:
    """All facts of a view, from which its id is made.

    `number`: the view's place in the chain, from 1.  `position`: the last frame before this view,
    None if no frame was sent.  `activated`: whether a view since the last FOUND or RESTART has
    been active, so that `wait_for` (N, at least 1) was reached and no longer counts.
    `options_digest`: stands for the options that must match (I2).  `nonce`: drawn by the proposer,
    so that two clones of a disk that decide apart never make the same view. `time`: milliseconds
    since 1970, shown to people; no order depends on members' clocks.
    """

    parent: ViewId | None
    number: int
    kind: Kind
    members: frozenset[Seat]
    electors: frozenset[Seat]
    position: Position | None
    activated: bool
    wait_for: int
    options_digest: str
    cluster_name: str
    nonce: str
    time: int

    def __attrs_post_init__(self) -> None:
        """Refuse a view that is malformed by itself."""
        require_type("kind", self.kind, Kind)
        require_int("number", self.number, at_least=1)
        _require_seats("members", self.members)
        _require_seats("electors", self.electors)
        _require_one_name_a_store(self.members | self.electors)
        require_type("position", self.position, Position, or_none=True)
        require_type("activated", self.activated, bool)
        require_int("wait_for", self.wait_for, at_least=1)
        require_text("options_digest", self.options_digest)
        require_text("cluster_name", self.cluster_name)
        require_text("nonce", self.nonce)
        require_int("time", self.time, at_least=0)

        if self.kind is Kind.FOUND:
            require("parent of a FOUND", self.parent is None, self.parent, "none: it is the first")
            require("number of a FOUND", self.number == 1, self.number, "1")
            require("position of a FOUND", self.position is None, self.position, "none")
            _require_known(self.electors, self.members)
        else:
            _require_id(f"parent of a {self.kind.name}", self.parent)
            require("number", self.number >= 2, self.number, "2 or more, because it has a parent")
        if self.kind in (Kind.FOUND, Kind.RESTART):
            # I1 begins again.  Otherwise: N is reached once, all die, and one restarts with
            # `activated` from before and serves alone.
            if self.activated:
                raise Malformed(f"activated of a {self.kind.name}", True, "False (W1)")
            count = len(self.members)
            if count < self.wait_for:
                expected = f"at least wait_for, {self.wait_for} (I1)"
                raise Malformed(f"members of a {self.kind.name}", count, expected)


@frozen(kw_only=True, cache_hash=True)
class View(Facts):
    """A link of the chain: the facts about it, and the id that is made of them."""

    id: ViewId

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        _require_id("id", self.id)

    @property
    def is_open(self) -> bool:
        """Return whether the cluster runs in this view: every kind but CLOSE."""
        return self.kind is not Kind.CLOSE

    def is_majority(self, seats: Collection[Seat]) -> bool:
        """Return whether `seats` hold more than half of the electors.

        Seats that are not electors do not count.
        """
        return 2 * len(self.electors & frozenset(seats)) > len(self.electors)

    def __str__(self) -> str:
        members = " ".join(sorted(names_of(self.members)))
        return f"{self.kind.name} {self.number} of {members} ({short(self.id)})"


FIELDS = (
    *("id", "number", "kind", "parent", "members", "electors", "position", "activated"),
    *("wait_for", "options_digest", "cluster_name", "nonce", "time"),
)
"""The fields of a view in the order in which they are sent and stored."""


# -- making one ----------------------------------------------------------------------------


def found(
    *,
    members: Iterable[Seat],
    electors: Iterable[Seat],
    wait_for: int,
    options_digest: str,
    cluster_name: str,
    nonce: str,
    time: int,
    digest: Digest = by_hash,
) -> View:
    """Return the first view of a new cluster; its electors are members (I3)."""
    facts = Facts(
        parent=None,
        number=1,
        kind=Kind.FOUND,
        members=frozenset(members),
        electors=frozenset(electors),
        position=None,
        activated=False,
        wait_for=wait_for,
        options_digest=options_digest,
        cluster_name=cluster_name,
        nonce=nonce,
        time=time,
    )
    return _with_id(facts, digest)


def change(
    parent: View,
    *,
    members: Iterable[Seat],
    position: Position | None,
    activated: bool,
    nonce: str,
    time: int,
    electors: Iterable[Seat] | None = None,
    digest: Digest = by_hash,
) -> View:
    """Return the view in which members have joined, left or been given up.

    `electors`: None means the parent's.  N, options and cluster name stay, because the cluster
    runs.
    """
    facts = Facts(
        parent=parent.id,
        number=parent.number + 1,
        kind=Kind.CHANGE,
        members=frozenset(members),
        electors=parent.electors if electors is None else frozenset(electors),
        position=position,
        activated=activated,
        wait_for=parent.wait_for,
        options_digest=parent.options_digest,
        cluster_name=parent.cluster_name,
        nonce=nonce,
        time=time,
    )
    return _successor_of(parent, facts, digest)


def close(
    parent: View,
    *,
    position: Position | None,
    activated: bool,
    nonce: str,
    time: int,
    digest: Digest = by_hash,
) -> View:
    """Return the CLOSE, the view of an orderly shutdown; members and electors stay (S2)."""
    facts = Facts(
        parent=parent.id,
        number=parent.number + 1,
        kind=Kind.CLOSE,
        members=parent.members,
        electors=parent.electors,
        position=position,
        activated=activated,
        wait_for=parent.wait_for,
        options_digest=parent.options_digest,
        cluster_name=parent.cluster_name,
        nonce=nonce,
        time=time,
    )
    return _successor_of(parent, facts, digest)


def restart(
    parent: View,
    *,
    members: Iterable[Seat],
    position: Position | None,
    wait_for: int,
    options_digest: str,
    nonce: str,
    time: int,
    electors: Iterable[Seat] | None = None,
    digest: Digest = by_hash,
) -> View:
    """Return the view in which the cluster runs again, after a CLOSE or total failure.

    See the rules I4 to I8 and R3.

    `electors`: None means the parent's.  `wait_for`, `options_digest`: the values with which
    all members are started now.
    """
    facts = Facts(
        parent=parent.id,
        number=parent.number + 1,
        kind=Kind.RESTART,
        members=frozenset(members),
        electors=parent.electors if electors is None else frozenset(electors),
        position=position,
        activated=False,
        wait_for=wait_for,
        options_digest=options_digest,
        cluster_name=parent.cluster_name,
        nonce=nonce,
        time=time,
    )
    return _successor_of(parent, facts, digest)


def _successor_of(parent: View, facts: Facts, digest: Digest) -> View:
    view = _with_id(facts, digest)
    verify_successor(parent, view)
    return view


def _with_id(facts: Facts, digest: Digest) -> View:
    return View(**asdict(facts, recurse=False), id=digest(facts))


# -- verifying a view that was received or read --------------------------------------------


def verify_id(view: View, digest: Digest = by_hash) -> None:
    """Raise `Malformed` unless the view's id is made of its facts.

    Call this for every view from a peer or a disk before its use: an id stands for all ancestors,
    which no member verifies again.
    """
    expected = digest(view)
    if view.id != expected:
        raise Malformed(
            f"id of view {view.number}",
            Verbatim(short(view.id)),
            f"{short(expected)}, its facts' id",
        )


def verify_successor(parent: View, view: View) -> None:
    """Raise `Malformed` unless `view` may be the successor of `parent`."""
    kind = view.kind
    # This runs for each view that is learned, so texts are made only for a wrong view.
    if view.parent != parent.id:
        raise Malformed("parent", Verbatim(short(view.parent)), f"{short(parent.id)}, the tip")
    if view.number != parent.number + 1:
        raise Malformed("number", view.number, f"{parent.number + 1}, the next")
    if not parent.is_open and kind is not Kind.RESTART:
        raise Malformed(f"kind after a {parent.kind.name}", Verbatim(kind.name), "RESTART")
    _require_kept("cluster_name", parent, view)
    _require_known(view.electors, parent.electors | view.members)
    if kind is not Kind.RESTART:
        # A CHANGE with a smaller N would let a part of the founders serve before the others came.
        _require_kept("wait_for", parent, view)
        _require_kept("options_digest", parent, view)
        if parent.activated and not view.activated:
            raise Malformed(f"activated of a {kind.name}", False, "True, as its parent says")
    if kind is Kind.CLOSE:
        _require_kept("members", parent, view)
        _require_kept("electors", parent, view)
    if not parent.is_open and view.position is not None and view.position != parent.position:
        # All clean stores of a CLOSE have the same data (I5), and no store has written since.
        # If all clean disks are lost, the view starts where the best other store ends.
        here, there = view.position.seq, 0 if parent.position is None else parent.position.seq
        require(
            "position of a RESTART", here < there, Verbatim(f"frame {here}"), f"{there} or before"
        )


def _require_kept(name: str, parent: View, view: View) -> None:
    found, expected = getattr(view, name), getattr(parent, name)
    if found != expected:
        raise Malformed(f"{name} of a {view.kind.name}", found, f"{expected!r}, the parent's")


def _require_id(what: str, value: object) -> None:
    # Any text will do: by_hash and the tests' digests make different ones, and a wrong one is
    # noticed when ids are compared.
    if isinstance(value, str):
        require_text(what, value)
    else:
        require(what, isinstance(value, Name), value, "the id of a view")


def _require_seats(what: str, seats: frozenset[Seat]) -> None:
    require_type(what, seats, frozenset)
    require(what, len(seats) > 0, Verbatim("none"), "at least one")
    for seat in seats:
        require_type(what, seat, Seat)
    names = sorted(seat.member for seat in seats)
    require(what, len(names) == len(set(names)), names, "each member once")


def _require_one_name_a_store(seats: frozenset[Seat]) -> None:
    # A store that two members have is a copied disk, and would vote twice.
    stores = sorted((seat.store_id, seat.member) for seat in seats)
    for (store, name), (other, other_name) in pairwise(stores):
        if store == other:
            found = Verbatim(f"{store} at {name} and at {other_name}")
            raise Malformed("store_id", found, "one member for each store")


def _require_known(electors: frozenset[Seat], known: frozenset[Seat]) -> None:
    # An elector that is no member now and was no elector before has shown no store, and might
    # never come.
    strangers = sorted(names_of(electors - known))
    require("electors", not strangers, strangers, "members of this view, or electors before it")
