"""Ids of views: a hash of all fields or, in a searched world, the fields themselves.

There are two ways to make an id.  Each is a function from facts to an id (`Digest`).  Equal facts
give equal ids, and different facts give different ids; the whole protocol depends on this.

    by_hash      64 hexadecimal digits: SHA-256 over `encode(facts)`; the default
    by_content   a `Name`, the facts themselves; for worlds that are searched

A hash does not suit a search: a search renames members for symmetry, and the hash of `a` does not
become the hash of `b`.  A number drawn from a counter is worse, because it depends on which view
was met first.  A `Name` is small, equal in every process, and renamed like any other value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from attrs import field, frozen

from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.errors import MisuseError

if TYPE_CHECKING:
    from joinproto.join.view import Facts, Kind, Position, Seat

Digest: TypeAlias = "Callable[[Facts], ViewId]"
"""A function that makes ids.  All members of a cluster use the same one."""

HEADER = b"joinproto view 1\n"
"""The first bytes of every encoding: the kind of the hashed value, and the encoding's version.

An added field, or a new meaning of a field, makes a new version, which has a new header.  So a
view of one version is never read as a view of another.
"""

SHORT = 8
"""The number of digits of a hash that are shown to a person."""


# -- by hash -------------------------------------------------------------------------------


def by_hash(facts: Facts) -> str:
    """Return the SHA-256 of the encoded facts, as 64 lower-case hexadecimal digits."""
    return sha256(encode(facts)).hexdigest()


def encode(facts: Facts) -> bytes:
    """Return the only encoding of `facts`.  It can be read back, so different facts differ in it.

    Every value begins with a letter for its type.  A text or a list also states its length, so no
    name can imitate the next field.  Sets are sorted by code point.  Text is UTF-8, and is not
    normalized: two spellings of an accented letter are two names, because normalization depends on
    the version of Unicode, which may differ between members.
    """
    position = facts.position
    return HEADER + _encoded(
        (
            facts.parent,
            facts.number,
            facts.kind.value,
            _sorted(facts.members),
            _sorted(facts.electors),
            None if position is None else (position.view, position.seq),
            facts.activated,
            facts.wait_for,
            facts.options_digest,
            facts.cluster_name,
            facts.nonce,
            facts.time,
        )
    )


def _sorted(seats: frozenset[Seat]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((seat.member, seat.store_id) for seat in seats))


def _encoded(value: object) -> bytes:
    match value:
        case None:
            return b"n"
        case bool():  # before int, because a bool is an int in Python
            return b"t" if value else b"f"
        case int():
            return b"i%d;" % value
        case str():
            text = value.encode("utf-8")
            return b"s%d:%b" % (len(text), text)
        case tuple():
            return b"l%d:%b" % (len(value), b"".join(map(_encoded, value)))
    raise MisuseError(
        f"a view with a {type(value).__name__} in it cannot be hashed",
        next="use by_content for all views of a searched world, by_hash for all others",
    )


# -- by content ----------------------------------------------------------------------------


@frozen(cache_hash=True, eq=False, unsafe_hash=True)
class Name:
    """A view's facts, used as its id; `parent` has the parent's facts in the same way.

    `position` names its view by the view's number.  That view is an ancestor, so the number is
    enough, and a name grows only with its chain.  `number` is the first field because names differ
    in it most often.
    """

    number: int
    kind: Kind
    members: frozenset[Seat]
    electors: frozenset[Seat]
    position: tuple[int, int] | None
    others: tuple[Hashable, ...]
    parent: Name | None = field(repr=False)

    def __eq__(self, other: object) -> bool:
        # Most equal names are the same object, whose ancestors need not be compared.
        if self is other:
            return True
        if type(other) is not Name:
            return NotImplemented
        return (
            self.number == other.number
            and self.kind is other.kind
            and self.members == other.members
            and self.electors == other.electors
            and self.position == other.position
            and self.others == other.others
            and self.parent == other.parent
        )

    def __str__(self) -> str:
        members = " ".join(sorted(seat.member for seat in self.members))
        return f"{self.kind.value.upper()} {self.number} of {members}"


ViewId: TypeAlias = str | Name
"""Text on a wire and on a disk, a `Name` in a searched world.  Compare ids for equality only."""


def by_content(facts: Facts) -> Name:
    """Return the facts as an id.  The ids of all ancestors must be names, too."""
    if isinstance(facts.parent, str):
        raise MisuseError(
            "a view's id cannot be its content if its parent's id is a hash",
            next="use the same digest for all views of a world",
        )
    return Name(
        facts.number,
        facts.kind,
        facts.members,
        facts.electors,
        None if facts.position is None else _place(facts.position, facts.parent),
        (
            facts.activated,
            facts.wait_for,
            facts.options_digest,
            facts.cluster_name,
            facts.nonce,
            facts.time,
        ),
        facts.parent,
    )


def _place(position: Position, ancestor: Name | None) -> tuple[int, int]:
    # A position off the chain would get the number of another view.  Then two different views
    # would have the same name.
    while ancestor is not None:
        if ancestor == position.view:
            return ancestor.number, position.seq
        ancestor = ancestor.parent
    raise Malformed("position", Verbatim(short(position.view)), "an earlier view on this chain")


# -- for people ----------------------------------------------------------------------------


def short(view_id: ViewId | None) -> str:
    """Return a short form of an id for people.  It is not exact: never compare short forms."""
    if view_id is None:
        return "none"
    if isinstance(view_id, str):
        return view_id if len(view_id) <= SHORT + 2 else f"{view_id[:SHORT]}.."
    return str(view_id)
