"""A member is a value: a step returns the next value, and has no other effect."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from joinproto.errors import MisuseError
from joinproto.join import steps
from joinproto.join.answers import Answer
from joinproto.join.choice_messages import Prepare
from joinproto.join.messages import (
    Action,
    Batch,
    Closing,
    Heartbeat,
    Hello,
    OpenForClients,
    ReadRegister,
)
from joinproto.join.observations import Observations
from joinproto.join.outbox import NOTHING, Outbox, combined
from joinproto.join.phases import RUNNING, Phase
from joinproto.join.state import MemberState, Setup
from joinproto.join.step_context import StepContext, step
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.timers import Timers
from joinproto.join.view import Seat
from tests.join.bus import cluster, config
from tests.join.drafts import draft, sends
from tests.join.pictures import lineage, position, seats, views


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
    """So a search may try every event on one state."""
    state, _ = alone()
    again, _ = alone()

    after, batch = step(state, steps.peer_up, 1, "b")

    assert state == again
    assert after != state
    assert ["b"] == [sent.to for sent in batch.sends]


def test_the_same_step_has_the_same_outcome() -> None:
    """A step uses no clock and no random numbers."""
    state = founded()

    assert step(state, steps.leave, 5) == step(state, steps.leave, 5)


def test_a_state_cannot_be_changed() -> None:
    """The result of a step is frozen, too."""
    state = founded()

    with pytest.raises(FrozenInstanceError):
        state.phase = Phase.STOPPED  # type: ignore[misc]
    assert hash(state) == hash(evolve(state))


def test_a_step_that_raises_has_changed_nothing() -> None:
    """The handler has changed only a draft."""
    member = cluster()["a"].member
    before = member.state

    def fails(draft: StepContext) -> None:
        draft.say()
        draft.leaves = True
        raise MisuseError("the host is wrong", next="mend it")

    with pytest.raises(MisuseError):
        step(member.state, fails)
    with pytest.raises(MisuseError):
        member.appended("another view", 1)
    assert before is member.state
    assert not before.leaves


def test_two_batches_combine_as_if_requested_at_once() -> None:
    """The later record is persisted; sends, actions and events stay in order."""
    state, first = alone()
    after, second = step(state, steps.tick, 100)

    batch = combined(first, second)

    assert after.record == batch.persist
    assert (*first.sends, *second.sends) == batch.sends
    assert (*first.events, *second.events) == batch.events


def opening() -> Action:
    return OpenForClients(views("F")["F"], False)


@pytest.mark.parametrize("closes", [True, False])
def test_a_pending_opening_does_not_follow_a_closing(closes: bool) -> None:
    """A member that became active and froze between two polls stays closed."""
    why = Closing.NEXT_VIEW if closes else None

    assert (() if closes else (opening(),)) == combined(
        Batch(actions=(opening(),)), Batch(why)
    ).actions
    m = draft("F")
    m.act(opening())
    if closes:
        m.close(Closing.NEXT_VIEW)
    assert ([] if closes else [opening()]) == m.actions


def test_an_empty_outbox_gives_an_empty_batch() -> None:
    assert NOTHING == Outbox().poll()


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "names", "peer", "expected"),
    [
        (8.9, "", "b", 8.9 + 32.0),
        (9.0, "", "b", 9.0),  # too late: the others have given this member up
        (8.9, "", "x", 9.0),  # still cut off
        (8.9, "b", "c", 9.0),  # the member was not cut off
    ],
)
def test_a_shutdown_that_no_member_heard_lasts_longer_once_a_majority_is_heard(
    now: float, names: str, peer: str, expected: float
) -> None:
    """S2: the member was cut off for less than the patience of the others."""
    m = draft("F C", closes_until=9.0, observations=Observations(in_reach=frozenset(names)))

    steps.peer_up(m, now, peer)

    assert m.closes_until == pytest.approx(expected)


def test_a_member_is_not_a_peer_of_itself() -> None:
    """A host may name the member itself among the connections."""
    m = draft("F C")

    steps.peer_up(m, 1.0, "a")

    assert (frozenset(), []) == (m.observations.in_reach, m.sends)


@pytest.mark.parametrize(("chain", "kept"), [("F C", True), ("", False)])
def test_an_answer_outlives_its_connection_if_there_is_a_view(chain: str, kept: bool) -> None:
    """3.3: data stands still; before a founding a member may come back with another store."""
    answer = Answer(seat=Seat("b", "b'"))
    m = draft(
        chain, observations=Observations(in_reach=frozenset("b"), answers=frozenset({answer}))
    )

    steps.peer_down(m, 1.0, "b")

    assert kept is (answer in m.observations.answers)


@pytest.mark.parametrize(("source", "left"), [("b", None), ("c", "c")])
def test_an_update_ends_with_the_connection_to_its_source(source: str, left: str | None) -> None:
    m = draft("F C", phase=Phase.UPDATING, source=source, held=views("F")["F"].id)
    m.observations = Observations(in_reach=frozenset("bc"))

    steps.peer_down(m, 1.0, "b")

    assert left == m.source


@pytest.mark.parametrize(("peer", "until"), [("b", 3.0), ("c", 9.0)])
def test_a_member_does_not_wait_for_a_ballot_whose_holder_is_gone(peer: str, until: float) -> None:
    """3.3: the others take their turns, one patience after the loss."""
    m = draft("F C", phase=Phase.FROZEN, promised=Ballot(1, "b'"), patience_until=9.0)
    m.observations = Observations(in_reach=frozenset("bc"))
    m.timers = Timers(holder="b", since=0.0, turns=1)

    steps.peer_down(m, 1.0, peer)

    assert until == m.patience_until


@pytest.mark.parametrize(("left", "until"), [("c", 9.0), ("", 3.0)])
def test_a_shutdown_is_given_up_soon_if_no_majority_is_heard(left: str, until: float) -> None:
    """S2: the others give this member up after their patience, and go on."""
    m = draft("F C", closes_until=9.0, observations=Observations(in_reach=frozenset("b" + left)))

    steps.peer_down(m, 1.0, "b")

    assert until == m.closes_until


def test_a_member_that_is_gone_loses_its_turn() -> None:
    """3.3: its ballot ends with the member."""
    m = draft("F C", timers=Timers(holder="b", since=0.0, turns=1))

    steps.peer_down(m, 1.0, "b")

    assert "" == m.timers.holder


def test_a_stopped_member_neither_answers_nor_has_a_deadline() -> None:
    """S2: its store is closed, so a promise would not be durable."""
    tip = views("F C")["C"]
    m = draft("F C", phase=Phase.STOPPED, timers=Timers(holder="b", since=0.0, turns=1))

    steps.receive(m, 1.0, "b", Prepare(tip.id, Ballot(1, "b'")))
    steps.peer_down(m, 1.0, "b")

    assert ([], None, None) == (m.sends, m.record.promised, m.deadline)


# -- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chain", "greets"), [("F C:bc@F.5", True), ("F C@F.5", False)])
def test_a_member_that_was_updated_alongside_the_view_says_hello_with_its_data(
    chain: str, greets: bool
) -> None:
    """J1: it asks to be taken in; a member of the view sends Ready instead."""
    at = position("F.5", chain)
    m = draft(chain, phase=Phase.JOINING if greets else Phase.UPDATING, source="b")

    steps.update_done(m, 1.0, at)

    said = [(to, one.status.position) for to, one in sends(m) if isinstance(one, Hello)]
    assert ([("b", at), ("c", at)] if greets else []) == said
    assert m.source is None


def test_the_data_of_a_member_that_answered_a_ballot_stands_still() -> None:
    """3.3: the answer says where its data ends, and the next view may start there."""
    m = draft("F C", phase=Phase.FROZEN, promised=Ballot(1, "b'"))

    with pytest.raises(MisuseError, match="told of new data"):
        steps.update_overwrites(m, 1.0)
    with pytest.raises(MisuseError, match="told of new data"):
        steps.update_done(m, 1.0, None)


def test_a_member_that_knows_no_view_has_no_unfinished_update() -> None:
    m = draft()

    steps.update_overwrites(m, 1.0)

    assert m.persist is None


# -- time, and the register ----------------------------------------------------------------------


@pytest.mark.parametrize(("now", "beats"), [(4.9, False), (5.0, True)])
def test_a_heartbeat_is_sent_when_its_time_has_come(now: float, beats: bool) -> None:
    m = draft("F C", next_heartbeat=5.0, observations=Observations(in_reach=frozenset("bc")))

    steps.tick(m, now)

    assert beats is any(isinstance(message, Heartbeat) for _, message in sends(m))


def test_a_member_whose_turn_has_not_come_waits_for_it() -> None:
    """3.3: b has two seconds, from 9 to 11."""
    m = draft("F C", phase=Phase.FROZEN, promised=Ballot(1, "b'"), patience_until=10.0)
    m.timers = Timers(holder="b", since=9.0, turns=1)

    steps.tick(m, 10.0)

    assert 11.0 == m.patience_until


@pytest.mark.parametrize(("in_reach", "begins"), [("bc", False), ("b", True)])
def test_a_member_that_has_no_reason_begins_no_ballot_however_long_it_waited(
    in_reach: str, begins: bool
) -> None:
    """3.4: if all members are here, they serve; if c is away, c must be given up."""
    tip = views("F C")["C"]
    m = draft("F C", phase=Phase.ACTIVE, ready_in=tip.id, held=tip.id, patience_until=5.0)
    m.observations = Observations(in_reach=frozenset(in_reach), ready=seats("bc"))

    steps.tick(m, 5.0)

    assert begins is m.is_frozen


def test_a_stopped_or_voting_member_ignores_the_register() -> None:
    """3.7: a cluster whose electors vote has no register."""
    chain = views("F C")
    m = draft("F", phase=Phase.STOPPED, options={"outside": True})

    steps.register_free(m, 1.0, chain["F"].id, 1.0)
    steps.register_says(m, 1.0, chain["C"])
    votes = draft("F")
    steps.register_says(votes, 1.0, chain["C"])

    assert (None, chain["F"]) == (m.free_until, m.view)
    assert chain["F"] == votes.view


def test_an_answer_of_the_register_about_another_view_is_ignored() -> None:
    """3.7: no member may serve because of this answer."""
    chain = views("F C")
    asked = draft("F C", options={"outside": True})
    empty = draft(options={"outside": True})

    for m in (asked, empty):
        steps.register_free(m, 1.0, chain["F"].id, 1.0)

        assert m.free_until is None
    assert not asked.saw_it_run
    steps.register_free(asked, 1.0, chain["C"].id, 1.0)
    assert 1.0 < (asked.free_until or 0.0)


def test_a_member_that_knew_that_the_tip_stands_ends_with_the_close_after_it() -> None:
    """S2, 3.7: it learns of the CLOSE only from the register (seed 50001299)."""
    chain = views("F X")
    told, untold = (draft("F", options={"outside": True}) for _ in range(2))

    steps.register_free(told, 1.0, chain["F"].id, 1.0)
    for m in (told, untold):
        steps.register_says(m, 2.0, chain["X"])

    assert (True, False) == (told.is_done, untold.is_done)


@pytest.mark.parametrize(("heartbeat", "asked"), [(1.0, 1), (0.0, 0)])
def test_a_process_asks_the_register_for_the_successor_of_its_tip_when_it_starts(
    heartbeat: float, asked: int
) -> None:
    """3.7: before the answer it cannot tell a new CLOSE from an old one."""
    setup = Setup(config("a", outside=True, heartbeat=heartbeat))
    record = StoreRecord(store_id="a'", lineage=lineage("F"))

    _, batch = steps.start(5.0, setup, record)

    assert [ReadRegister(views("F")["F"].id, 5.0)] * asked == list(batch.actions)


# -- the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [steps.leave, steps.shutdown_cluster])
@pytest.mark.parametrize("chain", ["", "F X", "F C:bc"])
def test_a_member_outside_of_a_running_view_may_end_at_once(
    chain: str, ends: Callable[[StepContext, float], None]
) -> None:
    """S2: the cluster is closed, or no member waits for this member."""
    m = draft(chain)

    ends(m, 1.0)

    assert Phase.STOPPED is m.phase


@pytest.mark.parametrize("ends", [steps.leave, steps.shutdown_cluster])
def test_a_member_of_a_running_view_waits_for_the_next_view_before_it_ends(
    ends: Callable[[StepContext, float], None],
) -> None:
    m = draft("F C")

    ends(m, 1.0)

    assert (True, 1.0) == (m.phase in RUNNING, m.patience_until)


def test_a_record_that_is_on_the_disk_is_not_written_again() -> None:
    """A write takes time, and all messages wait for it."""
    m = draft("F")

    m.write(m.record)
    assert m.persist is None
    m.write(evolve(m.record, update_unfinished=True))
    assert m.record == m.persist
