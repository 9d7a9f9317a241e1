"""Views of a searched world as elements of a layer: their order, and their contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from joinproto.join.ids import Name
from joinproto.join.view import Kind, Position
from joinproto.prove.structure import Rows


def name(view: object) -> Name:
    """Return the id of a view in a searched world."""
    assert isinstance(view, Name)
    return view


def ancestry(view: Name | None) -> Iterator[Name]:
    """Yield the view, its parent, and so on."""
    while view is not None:
        yield view
        view = view.parent


def with_ancestors(chosen: Rows, known: Rows) -> list[Name]:
    """Return the chosen and known views with all their ancestors, ordered by number."""
    ends = {row[0] for row in chosen} | {row[1] for row in known}
    found = {one for end in ends for one in ancestry(name(end))}
    return sorted(found, key=lambda one: one.number)


def upto(views: Iterable[Name]) -> Rows:
    """Return each pair of an ancestor and a view; a view is its own ancestor here."""
    return frozenset((one, view) for view in views for one in ancestry(view))


def closes(views: Iterable[Name]) -> Rows:
    return frozenset((view,) for view in views if view.kind is Kind.CLOSE)


def members(views: Iterable[Name]) -> Rows:
    """Return each view with the store_id of each member."""
    return frozenset((view, seat.store_id) for view in views for seat in view.members)


def frames_before(view: Name) -> frozenset[tuple[Name, int]]:
    """Return all frames that come before the start of the view."""
    frames: set[tuple[Name, int]] = set()
    position = view.position
    while position is not None:
        number, seq = position
        inside = next(one for one in ancestry(view) if one.number == number)
        first = 1 if inside.position is None else inside.position[1] + 1
        frames |= {(inside, at) for at in range(first, seq + 1)}
        position = inside.position
    return frozenset(frames)


def frames(positions: Iterable[Position]) -> frozenset[tuple[Name, int]]:
    return frozenset((name(one.view), one.seq) for one in positions)
