"""The errors that a member's own state and disk show in the join worlds."""

from __future__ import annotations

from joinproto.join.state import MemberState
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.machine.vocabulary import Store


def broken_claim(member: MemberState, kept: StoreRecord, frames: tuple[Position, ...]) -> str:
    """Return the claim that the member and its disk break, with the error; "" if they break none.

    `frames`: the frames on the disk.
    """
    tip = member.view
    if member.is_serving and kept.state is Store.CLEAN:
        return "dirty_before_serving: it serves, and its disk reads clean"
    is_ready = tip is not None and member.ready_in == tip.id
    if kept.update_unfinished and not is_ready:
        return ""
    if frames_at(kept.position, kept) != frames:
        return "position_is_data: its frames are not those of its position"
    if member.is_serving and tip is not None and member.seat not in tip.members:
        return "no_wrong_store: it serves, and is not in the view"
    if member.is_serving and tip is not None and not _hears_majority(member, tip):
        return "suspended_alone: it serves, and hears no majority"
    return ""


def _hears_majority(member: MemberState, tip: View) -> bool:
    heard = {seat for seat in tip.electors if seat.member in member.observations.in_reach}
    return member.config.outside or tip.is_majority({member.seat, *heard})


def frames_at(position: Position | None, record: StoreRecord) -> tuple[Position, ...]:
    """Return the frames that a store with this position must have."""
    frames: tuple[Position, ...] = ()
    while position is not None:
        view = record.lineage.find(position.view)
        assert view is not None
        first = 1 if view.position is None else view.position.seq + 1
        here = tuple(Position(view.id, seq) for seq in range(first, position.seq + 1))
        frames = (*here, *frames)
        position = view.position
    return frames
