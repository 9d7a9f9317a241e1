"""The outbox: a member's requests until the host has performed them."""

from __future__ import annotations

import pytest

from joinproto.errors import MisuseError
from joinproto.join.messages import (
    Action,
    Batch,
    Closing,
    OpenForClients,
    Refusal,
    Sent,
    Stop,
    Welcome,
)
from joinproto.join.outbox import NOTHING, Outbox, combined
from joinproto.join.store import StoreRecord
from tests.join.pictures import views

OLD, NEW, LATER = (StoreRecord(store_id=name) for name in ("old", "new", "later"))
SAYS = Batch(sends=(Sent("b", Welcome("view")),))
WRITES = Batch(persist=OLD)
TIP = views("F")["F"]
OPENS = OpenForClients(TIP, is_sequencer=True)
STOPS = Stop(is_clean=True)


def outbox(polled: Batch, waiting: Batch = NOTHING) -> Outbox:
    """Return an outbox from which one batch was polled while later actions wait."""
    out = Outbox()
    out.add(polled)
    assert polled == out.poll()
    out.add(waiting)
    return out


def test_an_event_while_a_batch_is_performed_waits_for_its_end() -> None:
    """Duty 2: a message relies on the record of its own batch."""
    out = outbox(WRITES, SAYS)
    out.add(Batch(actions=(STOPS,)))
    assert WRITES == out.poll()

    out.advance(WRITES)

    assert Batch(sends=SAYS.sends, actions=(STOPS,)) == out.poll()


def test_an_empty_batch_need_not_be_advanced() -> None:
    out = Outbox()
    out.add(NOTHING)
    assert NOTHING == out.poll()

    out.add(SAYS)

    assert SAYS == out.poll()
    out.advance(SAYS)
    assert NOTHING == out.poll()


def test_only_the_polled_batch_can_be_advanced() -> None:
    out = outbox(WRITES)
    with pytest.raises(MisuseError, match="did not give"):
        out.advance(SAYS)

    out.advance(NOTHING)

    assert WRITES == out.poll()
    out.advance(WRITES)
    with pytest.raises(MisuseError, match="did not give"):
        out.advance(WRITES)


@pytest.mark.parametrize(
    ("polled", "waiting", "expected"),
    [
        # A record that waits, or that the host is writing, would undo the frame.
        (WRITES, NOTHING, Batch(persist=NEW)),
        (WRITES, SAYS, Batch(persist=NEW, sends=SAYS.sends)),
        (SAYS, WRITES, Batch(persist=NEW)),
        # The journal has the frame, so if no record waits, none is written.
        (SAYS, NOTHING, NOTHING),
        (SAYS, SAYS, SAYS),
    ],
)
def test_a_record_is_written_again_if_an_older_one_would_undo_a_frame(
    polled: Batch, waiting: Batch, expected: Batch
) -> None:
    """3.2: the position is durable together with the frame."""
    out = outbox(polled, waiting)

    out.renew(NEW)
    out.advance(polled)

    assert expected == out.poll()


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ((OPENS, STOPS), Batch(actions=(STOPS,)), (OPENS, STOPS, STOPS)),
        # A member that was active and froze between two polls does not open after the closing.
        ((OPENS, STOPS), Batch(Closing.NEXT_VIEW), (STOPS,)),
        ((STOPS,), Batch(Closing.NEXT_VIEW, actions=(OPENS,)), (STOPS, OPENS)),
    ],
)
def test_combined_batches_have_no_opening_before_a_later_closing(
    first: tuple[Action, ...], then: Batch, expected: tuple[Action, ...]
) -> None:
    """3.5: clients of a view that is over are no longer served."""
    assert expected == combined(Batch(actions=first), then).actions


def test_combined_batches_lose_no_action_and_keep_the_later_record() -> None:
    said = Refusal("b", "why")
    first = Batch(Closing.NEXT_VIEW, OLD, SAYS.sends, (STOPS,), (said,))

    assert first == combined(first, Batch()) == combined(Batch(), first)
    twice = combined(
        first, Batch(persist=LATER, sends=SAYS.sends, actions=(STOPS,), events=(said,))
    )
    doubled = Batch(Closing.NEXT_VIEW, LATER, SAYS.sends * 2, (STOPS,) * 2, (said,) * 2)
    assert doubled == twice
