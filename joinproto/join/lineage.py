"""A store's chain of views, and how two of them compare.

The last `VIEWS_KEPT` views are kept, the older ones are forgotten.  They need no separate hash:
each id is made of its view's facts, the parent's id among them, so an id stands for the
whole path to it.  The oldest kept view names its parent; that id is the running hash of all
forgotten views.

So a lineage knows the ids at these numbers, here after 2,000 views:

    1             1000         1001 ... 2000
    initial       parent of    kept
    signature     the oldest

Two lineages are compared at the numbers that both know.  If they are equal at one number, they
are equal at all smaller ones.  If they differ at one number, they differ at all larger ones.

Source: join protocol, 3.2; rules R1, R2, J2, J3.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import evolve, frozen

from joinproto.codec.malformed import Malformed, Verbatim, require
from joinproto.join.ids import Digest, ViewId, by_hash, short
from joinproto.join.view import Kind, Position, View, verify_id, verify_successor

VIEWS_KEPT = 1_000
"""The number of views that a store keeps.  A store that missed more cannot be compared."""


@frozen
class Lineage:
    """The path from the founding to the tip, as far as it is kept.

    `views`: the kept views, the tip last; each follows the one before.  `initial`: the initial
    signature, set with the first view and never changed (S1).  `append` extends a lineage, and
    `lineage_of` makes one from received or stored views.
    """

    views: tuple[View, ...] = ()
    initial: ViewId | None = None

    @property
    def tip(self) -> View | None:
        """Return the last view; None if empty."""
        return self.views[-1] if self.views else None

    @property
    def length(self) -> int:
        """Return the number of all views, the forgotten ones included."""
        return self.views[-1].number if self.views else 0

    @property
    def forgotten(self) -> int:
        """Return the number of the oldest views, which are no longer kept."""
        return self.views[0].number - 1 if self.views else 0

    @property
    def final(self) -> ViewId | None:
        """Return the final signature: the tip's id if it is a CLOSE."""
        tip = self.tip
        return None if tip is None or tip.is_open else tip.id

    def id_at(self, number: int) -> ViewId | None:
        """Return the id of the view with this number, None if it is not known."""
        if number == 1:
            return self.initial
        if 1 < number == self.forgotten:
            return self.views[0].parent
        if self.forgotten < number <= self.length:
            return self.views[number - self.forgotten - 1].id
        return None

    def number_of(self, view_id: ViewId) -> int | None:
        """Return the number of the view with this id, None if it is not known."""
        kept = self.find(view_id)
        if kept is not None:
            return kept.number
        known = (number for number in (self.forgotten, 1) if self.id_at(number) == view_id)
        return next(known, None)

    def find(self, view_id: ViewId) -> View | None:
        """Return the kept view with this id, None if there is none."""
        for view in reversed(self.views):
            if view.id == view_id:
                return view
        return None

    def append(self, view: View, *, keep: int = VIEWS_KEPT) -> Lineage:
        """Return the lineage with `view` as its tip and the last `keep` views, 1 or more.

        Raises `Malformed` unless the view may follow the tip.  The view's id is not verified:
        for a view from outside, call `verify_id` first.
        """
        if self.tip is None:
            require("first view", view.kind is Kind.FOUND, Verbatim(str(view)), "a FOUND")
        else:
            verify_successor(self.tip, view)
            verify_position(f"position of view {view.number}", view.position, self)
        initial = view.id if self.initial is None else self.initial
        return Lineage((*self.views, view)[-keep:], initial)


def lineage_of(
    views: Iterable[View], initial: ViewId | None, *, digest: Digest = by_hash
) -> Lineage:
    """Return the lineage of received or stored views, after verifying every view and link.

    Raises `Malformed` if one is wrong.  `initial` cannot be verified here if the second view is
    forgotten.  A wrong `initial` is found when the lineage is compared with another store's.
    """
    kept = tuple(views)
    for view in kept:
        verify_id(view, digest)
    if not kept:
        require("initial signature without a view", initial is None, initial, "none")
        return Lineage()
    return linked(kept, initial)


def linked(kept: tuple[View, ...], initial: ViewId | None) -> Lineage:
    """Return the lineage of these views, at least one, whose ids are verified already.

    Raises `Malformed` unless each may follow the one before.
    """
    first = kept[0]
    require("initial signature", initial is not None, None, "the id of the FOUND")
    if first.kind is Kind.FOUND:
        require("initial signature", initial == first.id, initial, f"{short(first.id)}, the FOUND")
    if first.number == 2:
        expected = f"{short(first.parent)}, the parent of view 2"
        require("initial signature", initial == first.parent, initial, expected)
    lineage = Lineage((first,), initial)
    for view in kept[1:]:
        lineage = lineage.append(view, keep=len(kept))
    return lineage


def verify_position(what: str, position: Position | None, lineage: Lineage) -> None:
    """Raise `Malformed` if this lineage shows that there is no such frame on its chain.

    A frame of a forgotten view is accepted: 1,000 changes without a frame are odd, but no reason
    to stop a cluster.
    """
    if position is None:
        return
    view = lineage.find(position.view)
    if view is None:
        found = Verbatim(f"a frame of {short(position.view)}")
        require(what, lineage.forgotten > 0, found, "a frame of a view on this chain")
        return
    # This runs for each frame that is appended, so texts are made only for a wrong position.
    if not view.is_open:
        raise Malformed(what, Verbatim(f"a frame of {view}"), "a view in which frames are sent")
    before = 0 if view.position is None else view.position.seq
    if position.seq <= before:
        expected = f"more than {before}, where its view starts"
        raise Malformed(f"{what}, seq", position.seq, expected)


# -- comparing -----------------------------------------------------------------------------


class Order(Enum):
    """The relation of one lineage to another."""

    EQUAL = "equal"
    BEHIND = "behind"  # the other one continues where this one ends
    AHEAD = "ahead"
    DIVERGED = "diverged"  # one view with two successors: a split brain, or a forced recovery
    FOREIGN = "foreign"  # of another cluster
    UNKNOWN = "unknown"  # the views that would show it are forgotten


@frozen
class Comparison:
    """The relation of one lineage to another, and its evidence.

    `common`: the last view known to be on both, None if there is none.  Its number is
    `common_number`, 0 for none.  The last view that really is on both has a number from
    `common_number` to `common_max`; the views between are forgotten.  `one_beyond`, `other_beyond`:
    the kept views of each side that are surely not on the other, the oldest first.  Views between
    `common_max` and these may be forgotten.
    """

    order: Order
    common: ViewId | None
    common_number: int
    common_max: int
    one_beyond: tuple[View, ...]
    other_beyond: tuple[View, ...]


def compare(one: Lineage, other: Lineage) -> Comparison:
    """Return the relation of `one` to `other`: `BEHIND` means that `other` continues `one`.

    The relation is known if the kept views overlap or touch.  An empty lineage is the beginning of
    every other lineage.  Raises `Malformed` if two lineages differ at a view and agree at a later
    one.
    """
    shorter = min(one.length, other.length)
    equal, different = 0, None
    for number in _numbers_known(one, other):
        if one.id_at(number) == other.id_at(number):
            equal = number
            # An id stands for its ancestors, so correct members never cause this: a member wrote
            # a wrong initial signature alongside views of another cluster.
            expected = f"none, because they differ at view {different}"
            require("view of two lineages", different is None, number, expected)
        elif different is None:
            different = number

    if different == 1:
        order = Order.FOREIGN
    elif different is not None:
        order = Order.DIVERGED
    elif equal < shorter:
        order = Order.UNKNOWN
    elif one.length == other.length:
        order = Order.EQUAL
    else:
        order = Order.BEHIND if one.length < other.length else Order.AHEAD
    common_max = shorter if different is None else different - 1
    return Comparison(
        order,
        one.id_at(equal),
        equal,
        common_max,
        _beyond(one, common_max),
        _beyond(other, common_max),
    )


def _numbers_known(one: Lineage, other: Lineage) -> Iterable[int]:
    """Yield the numbers at which both know an id, the smallest first."""
    shorter = min(one.length, other.length)
    if shorter > 0:
        yield 1
    yield from range(max(2, one.forgotten, other.forgotten), shorter + 1)


def _beyond(lineage: Lineage, number: int) -> tuple[View, ...]:
    return lineage.views[max(0, number - lineage.forgotten) :]


def follow(own: Lineage, other: Lineage, *, keep: int = VIEWS_KEPT) -> Lineage:
    """Return the lineage of a store that knows `own` after it has learned `other`.

    That is the longer of the two, if it is known to continue the shorter one.  Otherwise raises
    `Malformed`: no store leaves its chain for one that may be of another branch.
    """
    order = compare(own, other).order
    if order in (Order.EQUAL, Order.AHEAD):
        return own
    require("lineage to follow", order is Order.BEHIND, Verbatim(order.value), "one that goes on")
    return other if len(other.views) <= keep else evolve(other, views=other.views[-keep:])
