"""Positions: which data continues where other data ends.

A position means data: the data at the position where its view starts, then the frames of
this view up to `seq`.  A view may start before the end of an older one, and then the tail
of the older one is dropped:

    FOUND   1 2 3 4 5        a store that stopped here has position (FOUND, 5)
    CHANGE        4 5 6      starts at (FOUND, 3); its frames are 4, 5 and 6

(FOUND, 5) and (CHANGE, 4) are incomparable although both are on one chain; (FOUND, 3) is
behind both.  So neither `seq` nor the number of the view can order positions.

More data is not newer data: (FOUND, 5) is ahead of where CHANGE starts, but its frames 4 and 5 are
a tail that no member acknowledged.  The views show which data is newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.view import Position, View


class PositionOrder(Enum):
    """The relation of the data at one position to the data at another."""

    EQUAL = "equal"
    BEHIND = "behind"  # the other one has the same frames and more
    AHEAD = "ahead"
    INCOMPARABLE = "incomparable"  # each has a frame that the other has not
    UNKNOWN = "unknown"  # a view that would tell is forgotten


def compare_positions(
    one: Position | None, other: Position | None, lineages: Sequence[Lineage]
) -> PositionOrder:
    """Return the relation of the data at `one` to the data at `other`; None means no frame.

    Both positions are on the paths to the tips of `lineages`, which are of one cluster.  The result
    is exact unless a view that matters is forgotten in all of them.
    """
    one_more = other_more = False  # whether frames were cut off, which the other does not have
    forgotten = False
    while one is not None and other is not None and one.view != other.view:
        view, other_view = _find(one.view, lineages), _find(other.view, lineages)
        forgotten = view is None or other_view is None
        # The later view is not on the way to the earlier one, so its frames are not in the
        # other's data: go back to where it starts.  If one view is forgotten, go back from the
        # known one; a position that arrives at the forgotten view came from a later one.
        if other_view is not None and (view is None or view.number < other_view.number):
            other, other_more = other_view.position, True
        elif view is not None:
            one, one_more = view.position, True
        else:
            return PositionOrder.UNKNOWN

    if forgotten and (one is None or other is None):
        return PositionOrder.UNKNOWN  # the forgotten view was never reached
    # Both are in one view now, or one is at the start: the shorter data begins the longer.
    one_seq = 0 if one is None else one.seq
    other_seq = 0 if other is None else other.seq
    one_more = one_more or one_seq > other_seq
    other_more = other_more or other_seq > one_seq
    if one_more and other_more:
        return PositionOrder.INCOMPARABLE
    if one_more:
        return PositionOrder.AHEAD
    return PositionOrder.BEHIND if other_more else PositionOrder.EQUAL


def _find(view_id: ViewId, lineages: Sequence[Lineage]) -> View | None:
    found = (lineage.find(view_id) for lineage in lineages)
    return next((view for view in found if view is not None), None)
