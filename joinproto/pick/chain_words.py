"""The evidence of joinproto's own stores of one cluster, in sentences for the operator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from attrs import frozen

from joinproto.join.answers import Evidence
from joinproto.join.ids import ViewId, short
from joinproto.join.lineage import Comparison, Lineage, Order
from joinproto.join.store import StoreRecord
from joinproto.join.view import Kind, Position, Seat, View, names_of
from joinproto.pick.candidate import Candidate


@frozen
class ComparedStore:
    """A readable store, and how its chain compares with the newest known chain."""

    candidate: Candidate
    record: StoreRecord
    seat: Seat
    comparison: Comparison

    @property
    def is_on_chain(self) -> bool:
        return self.comparison.order in (Order.EQUAL, Order.BEHIND)


def lines_of(
    stores: Sequence[ComparedStore],
    copies: Collection[str],
    evidence: Evidence,
    active: View,
    covering: Sequence[str],
    latest: Collection[str],
    newest: Lineage,
) -> Iterator[str]:
    """Yield the findings about these stores.

    `copies`: names of stores that are no evidence.  `evidence`: the evidence of the other stores on
    the longest chain.  `active`: the newest view in which clients may have been served.
    `covering`: names of the stores that have every committed frame.  `latest`: names of the
    covering stores that have the most frames.  `newest`: the longest chain of these stores.
    """
    tip = newest.tip
    assert tip is not None
    yield (
        f"the newest view that any of these stores knows is {_view(tip)}"
        + ("; clients may have been served in it" if active == tip else "")
    )
    for view in reversed(newest.views):
        if view.number <= active.number:
            break
        yield _why_never_served(view, evidence)
    if active != tip:
        yield f"the newest view in which clients may have been served is {_view(active)}"
    is_forked = any(item.comparison.order is Order.DIVERGED for item in stores)
    for item in sorted(stores, key=lambda one: one.candidate.name):
        yield _line(item, copies, covering, latest, newest, is_forked=is_forked)


def _why_never_served(view: View, evidence: Evidence) -> str:
    if not view.is_open:
        return f"{_view(view)} is an orderly stop: no client was served in it"
    shown = [
        answer.seat.member
        for answer in evidence.answers
        if Evidence(evidence.lineage, (answer,)).was_never_served(view)
    ]
    were = "its member {} was" if len(shown) == 1 else "its members {} were"
    return (
        f"no client was served in {_view(view)}: {were.format(', '.join(shown))} never ready in it"
    )


def _line(
    item: ComparedStore,
    copies: Collection[str],
    covering: Sequence[str],
    latest: Collection[str],
    newest: Lineage,
    *,
    is_forked: bool,
) -> str:
    name, record = item.candidate.name, item.record
    where = f"{item.seat.member} ({name})"
    if name in copies:
        return f"{where} is a copy, or was put back from a backup: it is no evidence"
    if record.tip is None:
        return f"{where} is empty"
    if item.comparison.order is Order.DIVERGED:
        at = item.comparison.common_number
        return f"{where} left the chain of the other stores after view {at}"
    if item.comparison.order is Order.UNKNOWN:
        return (
            f"{where} stopped so long ago that the other stores no longer keep the views that"
            " followed"
        )
    position = position_text(record.position, newest)
    if record.update_unfinished:
        return f"{where} was being updated: its position is not used, and this store is not picked"
    frames = "every committed frame" + (" of its branch" if is_forked else "")
    if name in latest:
        others = len(latest) - 1
        same = f", the same as {others} other store{'s' if others > 1 else ''}" if others else ""
        return f"{where} has {frames}, and ends at {position}{same}"
    if name in covering:
        return f"{where} has {frames}, and ends at {position}, before the latest store"
    ready = "never ready in a view"
    if record.held is not None:
        ready = f"last ready in {_view_name(record.held, newest)}"
    return f"{where} was {ready}, so committed frames may be missing in it"


def of_empty_stores(stores: Sequence[ComparedStore]) -> tuple[str, ...]:
    """Return the findings about stores of which none knows a view."""
    found = [f"{item.seat.member} ({item.candidate.name}) is empty" for item in stores]
    views = {
        item.record.accepted.view.id: item.record.accepted.view
        for item in stores
        if item.record.accepted is not None
    }
    found += [
        f"{view} was accepted: a start that reaches its voters completes the founding"
        for view in views.values()
        if view.kind is Kind.FOUND
    ]
    return tuple(found)


def _view(view: View) -> str:
    members = ", ".join(sorted(names_of(view.members)))
    return f"view {view.number} ({view.kind.name} {short(view.id)} of {members})"


def _view_name(view_id: ViewId, lineage: Lineage) -> str:
    number = lineage.number_of(view_id)
    return f"view {short(view_id)}" if number is None else f"view {number}"


def position_text(position: Position | None, lineage: Lineage) -> str:
    """Return the position in words, with the view's number if it is known."""
    if position is None:
        return "the beginning, without a frame"
    return f"frame {position.seq} of {_view_name(position.view, lineage)}"
