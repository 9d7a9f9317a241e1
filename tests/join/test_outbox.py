"""A member's requests to its host, until the host has performed them."""

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
from joinproto.join.outbox import NOTHING, Outbox, both
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


def test_an_empty_batch_is_nothing_to_wait_for() -> None:
    out = Outbox()
    out.add(NOTHING)
    assert NOTHING == out.poll()

    out.add(SAYS)

    assert SAYS == out.poll()
    out.advance(SAYS)
    assert NOTHING == out.poll()


def test_a_host_says_that_it_performed_what_was_polled_and_nothing_else() -> None:
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
def test_a_record_is_written_anew_where_an_older_one_would_take_a_frame_back(
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
def test_of_two_batches_in_one_what_waits_to_open_does_not_open_behind_a_closing(
    first: tuple[Action, ...], then: Batch, expected: tuple[Action, ...]
) -> None:
    """3.5: clients of a view that is over are no longer served."""
    assert expected == both(Batch(actions=first), then).actions


def test_of_two_batches_in_one_nothing_is_lost_and_the_later_record_counts() -> None:
    said = Refusal("b", "why")
    first = Batch(Closing.NEXT_VIEW, OLD, SAYS.sends, (STOPS,), (said,))

    assert first == both(first, Batch()) == both(Batch(), first)
    twice = both(first, Batch(persist=LATER, sends=SAYS.sends, actions=(STOPS,), events=(said,)))
    doubled = Batch(Closing.NEXT_VIEW, LATER, SAYS.sends * 2, (STOPS,) * 2, (said,) * 2)
    assert doubled == twice
