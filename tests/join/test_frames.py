"""Frames: which may be written, and the changes that durable frames make."""

from __future__ import annotations

import pytest

from joinproto.errors import MisuseError
from joinproto.join.frames import FrameVerdict, appended, in_order, may_append
from joinproto.join.step_context import StepContext
from joinproto.join.store import Ballot
from joinproto.join.view import Position
from tests.join.drafts import draft
from tests.join.pictures import views

TIP = views("F C@F.3")["C"]


def member(**more: object) -> StepContext:
    """Return a member that is ready in the tip, and has the three frames before the tip."""
    return draft(
        "F C@F.3", **{"position": TIP.position, "held": TIP.id, "ready_in": TIP.id, **more}
    )


@pytest.mark.parametrize(
    ("more", "view", "seq", "expected"),
    [
        ({}, "C", 4, FrameVerdict.TAKE),
        ({}, "C", 3, FrameVerdict.ALREADY_THERE),
        ({}, "C", 5, FrameVerdict.GAP),
        ({}, "F", 4, FrameVerdict.OTHER_VIEW),
        ({"ready_in": None}, "C", 4, FrameVerdict.NOT_READY),
        ({"ready_in": "F"}, "C", 4, FrameVerdict.NOT_READY),
        ({"promised": Ballot(1, "b'")}, "C", 4, FrameVerdict.FROZEN),
        ({"position": None}, "C", 1, FrameVerdict.TAKE),
    ],
)
def test_a_member_takes_the_next_frame_of_a_view_in_which_it_is_ready(
    more: dict[str, object], view: str, seq: int, expected: FrameVerdict
) -> None:
    """3.5: it must not be frozen, either."""
    assert expected is may_append(member(**more), views("F C@F.3")[view].id, seq)


def test_frames_under_way_to_a_frozen_member_are_still_in_order() -> None:
    assert FrameVerdict.TAKE is in_order(member(promised=Ballot(1, "b'")), TIP, 4)


def test_a_member_without_a_view_takes_no_frame() -> None:
    assert FrameVerdict.OTHER_VIEW is may_append(draft(), TIP.id, 1)


def test_consecutive_frames_are_reported_at_once() -> None:
    """3.2: the record is not written for frames; their journal has the position."""
    m = member()

    appended(m, TIP.id, 6, 4)
    appended(m, TIP.id, 7)

    assert Position(TIP.id, 7) == m.record.position
    assert m.persist is None


@pytest.mark.parametrize(("seq", "first"), [(5, None), (6, 5), (3, None), (3, 4), (4, 3)])
def test_frames_that_leave_a_gap_or_exist_are_refused(seq: int, first: int | None) -> None:
    m = member()

    with pytest.raises(MisuseError, match=f"frame {seq} was written"):
        appended(m, TIP.id, seq, first)

    assert TIP.position == m.record.position
