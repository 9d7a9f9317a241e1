"""A member is a value: a step returns the next one, and changes nothing else."""

from __future__ import annotations

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from joinproto.errors import MisuseError
from joinproto.join import steps
from joinproto.join.answers import Answer
from joinproto.join.draft import Draft, step
from joinproto.join.heard import Heard
from joinproto.join.messages import Action, Batch, Closing, Heartbeat, OpenForClients
from joinproto.join.outbox import NOTHING, Outbox, both
from joinproto.join.pace import Pace
from joinproto.join.phases import Phase
from joinproto.join.state import MemberState, Setup
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.view import Seat
from tests.join.bus import cluster, config
from tests.join.drafts import draft, sends
from tests.join.pictures import views


def alone() -> tuple[MemberState, Batch]:
    """Return a member that may found its cluster alone, right after its start."""
    setup = Setup(config("a", electors="a", wait_for=1))
    return steps.start(0, setup, StoreRecord(store_id="a1"))


def founded() -> MemberState:
    state, _ = alone()
    state, _ = step(state, steps.tick, 100)
    assert Phase.ACTIVE is state.phase
    return state


def test_a_step_leaves_the_state_that_it_starts_from() -> None:
    """So a search may hold one state and try every event on it."""
    state, _ = alone()
    again, _ = alone()

    after, batch = step(state, steps.peer_up, 1, "b")

    assert state == again
    assert after != state
    assert ["b"] == [sent.to for sent in batch.sends]


def test_the_same_step_has_the_same_outcome() -> None:
    """No clock and no chance is in it."""
    state = founded()

    assert step(state, steps.leave, 5) == step(state, steps.leave, 5)


def test_a_state_cannot_be_changed() -> None:
    """Who holds one, holds it as it was; and what a step returns is as frozen as the others."""
    state = founded()

    with pytest.raises(FrozenInstanceError):
        state.phase = Phase.STOPPED  # type: ignore[misc]
    assert hash(state) == hash(evolve(state))


def test_a_step_that_raises_has_changed_nothing() -> None:
    """What a handler did up to there was done to a draft."""
    member = cluster()["a"].member
    before = member.state

    def fails(draft: Draft) -> None:
        draft.say()
        draft.leaves = True
        raise MisuseError("the host is wrong", next="mend it")

    with pytest.raises(MisuseError):
        step(member.state, fails)
    with pytest.raises(MisuseError):
        member.appended("another view", 1)
    assert before is member.state
    assert not before.leaves


def test_two_batches_are_one_as_if_they_had_been_asked_for_at_once() -> None:
    """Persist the later record; send, act and tell in order."""
    state, first = alone()
    after, second = step(state, steps.tick, 100)

    batch = both(first, second)

    assert after.record == batch.persist
    assert (*first.sends, *second.sends) == batch.sends
    assert (*first.events, *second.events) == batch.events


def opening() -> Action:
    return OpenForClients(views("F")["F"], False)


@pytest.mark.parametrize("closes", [True, False])
def test_what_is_closed_does_not_open_again_behind_it(closes: bool) -> None:
    """A member that was active and froze between two polls is closed."""
    why = Closing.NEXT_VIEW if closes else None

    assert (() if closes else (opening(),)) == both(Batch(actions=(opening(),)), Batch(why)).actions
    m = draft("F")
    m.act(opening())
    if closes:
        m.close(Closing.NEXT_VIEW)
    assert ([] if closes else [opening()]) == m.actions


def test_an_outbox_with_nothing_in_it_gives_an_empty_batch() -> None:
    assert NOTHING == Outbox().poll()


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "names", "peer", "expected"),
    [
        (8.9, "", "b", 8.9 + 32.0),
        (9.0, "", "b", 9.0),  # too late: the others have given it up
        (8.9, "", "x", 9.0),  # still cut off
        (8.9, "b", "c", 9.0),  # it was not
    ],
)
def test_a_shutdown_that_nobody_heard_lasts_on_when_a_majority_is_heard(
    now: float, names: str, peer: str, expected: float
) -> None:
    """S2: for less than their patience, so the others have not given it up."""
    m = draft("F C", closes_until=9.0, heard=Heard(in_reach=frozenset(names)))

    steps.peer_up(m, now, peer)

    assert m.closes_until == pytest.approx(expected)


@pytest.mark.parametrize(("chain", "kept"), [("F C", True), ("", False)])
def test_an_answer_outlives_its_connection_where_there_is_a_view(chain: str, kept: bool) -> None:
    """3.3: it stands still; before a founding the member may come back with another store."""
    answer = Answer(seat=Seat("b", "b'"))
    m = draft(chain, heard=Heard(in_reach=frozenset("b"), answers=frozenset({answer})))

    steps.peer_down(m, 1.0, "b")

    assert kept is (answer in m.heard.answers)


@pytest.mark.parametrize(("source", "left"), [("b", None), ("c", "c")])
def test_an_update_ends_with_the_connection_to_its_source(source: str, left: str | None) -> None:
    m = draft("F C", phase=Phase.UPDATING, source=source, held=views("F")["F"].id)
    m.heard = Heard(in_reach=frozenset("bc"))

    steps.peer_down(m, 1.0, "b")

    assert left == m.source


@pytest.mark.parametrize(("peer", "until"), [("b", 3.0), ("c", 9.0)])
def test_nobody_waits_longer_for_a_ballot_whose_holder_is_gone(peer: str, until: float) -> None:
    """3.3: the others have their turns, one patience after the loss."""
    m = draft("F C", phase=Phase.FROZEN, promised=Ballot(1, "b'"), patience_until=9.0)
    m.heard = Heard(in_reach=frozenset("bc"))
    m.pace = Pace(holder="b", since=0.0, turns=1)

    steps.peer_down(m, 1.0, peer)

    assert until == m.patience_until


# -- time, and the register ----------------------------------------------------------------------


@pytest.mark.parametrize(("now", "beats"), [(4.9, False), (5.0, True)])
def test_a_heartbeat_is_sent_when_its_time_has_come(now: float, beats: bool) -> None:
    m = draft("F C", next_beat=5.0, heard=Heard(in_reach=frozenset("bc")))

    steps.tick(m, now)

    assert beats is any(isinstance(message, Heartbeat) for _, message in sends(m))


def test_who_is_stopped_hears_of_no_register() -> None:
    """3.7: nobody would call `tick` at a deadline that it had; and who votes has no register."""
    chain = views("F C")
    m = draft("F", phase=Phase.STOPPED, options={"outside": True})

    steps.register_free(m, 1.0, chain["F"].id, 1.0)
    steps.register_says(m, 1.0, chain["C"])
    votes = draft("F")
    steps.register_says(votes, 1.0, chain["C"])

    assert (None, chain["F"]) == (m.free_until, m.view)
    assert chain["F"] == votes.view


def test_what_is_on_the_disk_already_is_not_written() -> None:
    """A write takes the time of a disk, and all that is said waits for it."""
    m = draft("F")

    m.write(m.record)
    assert m.persist is None
    m.write(evolve(m.record, update_unfinished=True))
    assert m.record == m.persist
