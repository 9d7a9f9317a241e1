"""The way in which a member became active: founded, joined or restored."""

from __future__ import annotations

from enum import Enum

from joinproto.join.lineage import Lineage
from joinproto.join.view import Kind, Seat


class Outcome(Enum):
    """The result of `wait_active`."""

    FOUNDED = "founded"  # a new cluster, and this is one of its first members
    RESTORED = "restored"  # the cluster was started again from its stores, with this one
    JOINED = "joined"  # the cluster ran, and took this member in


def outcome_of(lineage: Lineage, seat: Seat, views_before: int) -> Outcome:
    """Return how the member at `seat` became active.

    `views_before`: the number of views in its store when the process started.
    """
    for view in reversed(lineage.views):
        if view.number <= views_before:
            break
        if view.kind in (Kind.FOUND, Kind.RESTART) and seat in view.members:
            return Outcome.FOUNDED if view.kind is Kind.FOUND else Outcome.RESTORED
    return Outcome.JOINED
