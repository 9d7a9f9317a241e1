"""Frames: whether a member may write a frame, and the changes once it is durable.

Source: join protocol, 3.2 and 3.5.
"""

from __future__ import annotations

from enum import Enum

from attrs import evolve

from joinproto.errors import MisuseError
from joinproto.join.ids import ViewId
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import Position, View


class FrameVerdict(Enum):
    """The answer of `may_append`: whether a member may write a frame."""

    TAKE = "take it"
    OTHER_VIEW = "it belongs to another view"
    NOT_READY = "this member is not ready in the view"
    FROZEN = "the next view is being chosen"
    ALREADY_THERE = "it is there"
    GAP = "frames before it are missing"


def may_append(it: Known, view: ViewId, seq: int) -> FrameVerdict:
    """Return whether this member may write the frame `seq` of `view`, and then acknowledge it."""
    tip = it.view
    if tip is None or tip.id != view:
        return FrameVerdict.OTHER_VIEW
    return FrameVerdict.FROZEN if it.is_frozen else in_order(it, tip, seq)


def in_order(it: Known, tip: View, seq: int) -> FrameVerdict:
    """Return whether the frame `seq` of the tip is the next one for this store."""
    if it.ready_in != tip.id:
        return FrameVerdict.NOT_READY
    last = it.record.position
    expected = 1 if last is None else last.seq + 1
    if seq == expected:
        return FrameVerdict.TAKE
    return FrameVerdict.GAP if seq > expected else FrameVerdict.ALREADY_THERE


def appended(m: StepContext, view: ViewId, seq: int, first: int | None = None) -> None:
    """Note that the frames from `first` to `seq` are durable, and the position with them.

    `first`: None means only the frame `seq`.  Raises `MisuseError` if `may_append` does not return
    `TAKE` for the first frame, or if `seq` is less than `first`.
    """
    # Otherwise: the host asks, then answers a ballot ("my data ends at 4"), then writes
    # frame 5 and acknowledges it, and the next view starts at 4.
    first = seq if first is None else first
    answer = may_append(m, view, first)
    if answer is not FrameVerdict.TAKE or seq < first:
        taken = answer is FrameVerdict.TAKE
        why = f"the first frame, {first}, is a later one" if taken else answer.value
        raise MisuseError(
            f"frame {seq} was written, but must not be: {why}",
            next="call `may_append` right before the write, and no other method in between",
        )
    m.choice = m.choice.with_record(evolve(m.record, position=Position(view, seq)))
