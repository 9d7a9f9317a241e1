"""Ids of views: a hash of all fields or, in a searched world, the fields themselves.

Two ways to make an id, both a function `Digest` from facts to an id.  Equal facts give
equal ids, and different facts give different ids: everything else rests on this.

    by_hash      64 hexadecimal digits: SHA-256 over `encode(facts)`; what ships
    by_content   a `Name`, the facts themselves; for worlds that are searched

A hash cannot be searched well: members are renamed for symmetry, and a hash of `a` does
not become the hash of `b`.  A number drawn from a counter is worse, because it depends on
which view was met first.  A `Name` is small, equal in every process, and renamed like any
other value.
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
"""The function that makes ids; one for all members of a cluster."""

HEADER = b"joinproto view 1\n"
"""First bytes of every encoding: the kind of the hashed value, and the version of the encoding.

A field that is added or that changes its meaning is a new version, and a new version has a
new header.  So no view of one version is ever read as a view of another.
"""

SHORT = 8
"""Digits of a hash that a person is shown."""


# -- by hash -------------------------------------------------------------------------------


def by_hash(facts: Facts) -> str:
    """Return the SHA-256 of the encoded facts, as 64 lower-case hexadecimal digits."""
    return sha256(encode(facts)).hexdigest()


def encode(facts: Facts) -> bytes:
    """Return the one encoding of `facts`; it can be read back, so it has no second reading.

    Every value begins with a letter for its kind, and a text or a list with its length, so that no
    name can imitate the next field.  Sets are sorted by code point. Text is UTF-8 as it stands: two
    spellings of an accented letter are two names, because folding them depends on the version of
    Unicode and members do not all have the same.
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
        case bool():  # before int: for Python a bool is one, too
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
    """A view's facts as its id, the ancestors' in turn.

    The position is told by the number of its view, not by that view's name: the view is an
    ancestor, so the number is enough, and a name stays as long as its chain.  `number`
    stands first because names differ in it most often.
    """

    number: int
    kind: Kind
    members: frozenset[Seat]
    electors: frozenset[Seat]
    position: tuple[int, int] | None
    others: tuple[Hashable, ...]
    parent: Name | None = field(repr=False)

    def __eq__(self, other: object) -> bool:
        # Most that are equal are one object, and its ancestors need not be looked at.
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
"""Text on a wire and on a disk, a `Name` in a searched world; only equality has a meaning."""


def by_content(facts: Facts) -> Name:
    """Return the facts as an id.  All their ancestors' ids are names, too."""
    if isinstance(facts.parent, str):
        raise MisuseError(
            "a view cannot be called by its content if its parent is called by a hash",
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
    # A position off the chain would be told by the number of another view, and two
    # different views would be one for the search.
    while ancestor is not None:
        if ancestor == position.view:
            return ancestor.number, position.seq
        ancestor = ancestor.parent
    raise Malformed("position", Verbatim(short(position.view)), "a view on the way to this one")


# -- for people ----------------------------------------------------------------------------


def short(view_id: ViewId | None) -> str:
    """Return an id as a person reads it: enough to tell apart, never enough to compare."""
    if view_id is None:
        return "none"
    if isinstance(view_id, str):
        return view_id if len(view_id) <= SHORT + 2 else f"{view_id[:SHORT]}.."
    return str(view_id)
