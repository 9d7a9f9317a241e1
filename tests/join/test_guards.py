"""Guards that only rare runs need: the error without each guard, in as few steps as possible.

No small world reaches these errors.  Each guard was found by changing it while no test failed.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.join.admission import Admit, Newcomer, admission
from joinproto.join.backoff import _is_held
from joinproto.join.choice import Choice
from joinproto.join.choice_messages import Accept, Learned, Nack, Prepare, Promise, Voted
from joinproto.join.greeting import tell
from joinproto.join.lineage import Lineage
from joinproto.join.messages import (
    Confirmed,
    JoinMessage,
    Ready,
    ServeUpdate,
    StartUpdate,
    WantUpdate,
    Welcome,
)
from joinproto.join.phases import Phase
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.succession import Next, Row, going_on
from joinproto.join.timers import Timers
from joinproto.join.view import Position, verify_successor
from joinproto.join.wire import decode, encode
from joinproto.machine.vocabulary import Reason
from tests.join.bus import Bus, Data, Envelope, Host, cluster, config
from tests.join.pictures import views
from tests.join.test_choice import A, B, V, ballot, choice, promise, seat, sent


def hears(bus: Bus, name: str, sender: str, message: JoinMessage) -> Host:
    """Deliver this message to one member only, before all that are under way."""
    host = bus[name]
    host.hear(Envelope(sender, name, encode(message)))
    return host


def asked_for(host: Host, kind: type) -> int:
    return sum(isinstance(action, kind) for action in host.told)


# -- the votes -----------------------------------------------------------------------------------


def test_a_ballot_begins_with_the_view_that_its_own_store_has_accepted() -> None:
    """3.3: a majority may have accepted it, and the proposer's own vote may be one of them.

    a and b accept A, and the member that counted their votes is gone.  a asks c, which has not
    voted.
    """
    voted = choice("a").receive("b", Accept(V.id, ballot("1b"), A)).choice

    step = voted.begin().choice.receive("c", promise("c", "2a"))

    assert ("b", Accept(V.id, ballot("2a"), A)) in sent(step)


def test_a_promise_of_an_earlier_ballot_does_not_count() -> None:
    """b promised only ballot 1, and may still accept a view in a ballot before 5."""
    begun = choice("a").begin().choice
    again = begun.receive("c", Nack(V.id, ballot("1a"), ballot("4c"))).choice.begin().choice

    step = again.receive("b", promise("b", "1a"))

    assert () == step.effects
    assert not step.choice.is_free


def test_a_vote_of_an_earlier_ballot_does_not_count() -> None:
    """The ballot 1 of a is outbid by c; b's vote in it comes late, while a is in ballot 5."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice
    proposed = asks.propose(A).choice
    again = proposed.receive("c", Nack(V.id, ballot("1a"), ballot("4c"))).choice.begin().choice
    assert isinstance(again, Choice)
    bound = again.receive("c", promise("c", "5a")).choice

    step = bound.receive("b", Voted(V.id, ballot("1a"), seat("b")))

    assert not [item for item in step.effects if isinstance(item, Learned)]
    assert V.id == step.choice.parent


def test_a_vote_in_the_ballot_of_a_rival_chooses_no_view() -> None:
    """The vote is in a rival's ballot: b votes for B, while a has proposed A."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice
    proposed = asks.propose(A).choice

    step = proposed.receive("b", Voted(V.id, ballot("1c"), seat("b")))

    assert A.id != B.id
    assert V.id == step.choice.parent


# -- updates -------------------------------------------------------------------------------------


def test_an_update_that_a_new_view_ends_begins_again() -> None:
    """3.4: an update is of one view; its source may not know that a member still waits for it."""
    bus = cluster()
    bus["a"].write()
    bus.settle()
    bus.start(config("d"))
    while bus["d"].member.source is None and bus.now < 60:
        bus.step()
    bus.wire = deque(
        envelope
        for envelope in bus.wire
        if envelope.sender != "d" and not isinstance(envelope.content, Data)
    )

    bus.crash("c")
    bus.wait()

    assert "a active, b active, d active" == bus.phases().replace(", c down", "")
    assert 1 < asked_for(bus["d"], StartUpdate)


def test_a_member_that_is_not_ready_serves_no_update() -> None:
    """I7: its own data may end elsewhere; c was restarted, and knows the view from its disk."""
    bus = cluster()
    view = bus["c"].member.view
    assert view is not None
    bus.crash("c")
    bus.start(config("c"))

    host = hears(bus, "c", "b", WantUpdate(view.id))

    assert 0 == asked_for(host, ServeUpdate)
    assert 1 == asked_for(hears(bus, "a", "b", WantUpdate(view.id)), ServeUpdate)


def test_no_update_begins_while_the_answer_of_its_member_counts() -> None:
    """3.3: a member that answers freezes, and its data stands still, even while it joins."""
    bus = cluster()
    view = bus["a"].member.view
    assert view is not None
    bus.start(config("d"))
    bus.step()
    while bus["d"].member.view != view and bus.now < 60:
        bus.step()
    bus.wire.clear()
    hears(bus, "d", "c", Prepare(view.id, Ballot(1, "c3")))
    assert bus["d"].member.is_frozen
    before = asked_for(bus["d"], StartUpdate)

    host = hears(bus, "d", "a", Welcome(view.id))

    assert Phase.JOINING is host.member.phase
    assert before == asked_for(host, StartUpdate) == 0


# -- reports of a member, and admission -----------------------------------------------------


def test_a_member_that_was_ready_in_no_view_did_not_run_on() -> None:
    """A started member waits for members that ran on, until they have finished a ballot."""
    bus = Bus()
    bus.start(config("a"))

    assert not bus["a"].member.status.ran_on
    assert cluster()["a"].member.status.ran_on


def test_a_frozen_member_notes_no_ready_member() -> None:
    """3.3: a member that is frozen becomes neither ready nor active in this view any more.

    The ready members no longer matter, so states that differ only in these members are equal.
    """
    bus = cluster()
    tip = bus["a"].member.view
    assert tip is not None
    others = tip.members - {bus["a"].member.seat}
    assert others == bus["a"].member.state.observations.ready

    bus["a"].call_member(lambda member: member.shutdown_cluster(bus.now))
    bus["a"].call_member(lambda member: member.tick(bus.now))
    assert bus["a"].member.is_frozen
    assert set() == bus["a"].member.state.observations.ready

    hears(bus, "a", "b", Ready(tip.id, bus["b"].member.seat))
    assert set() == bus["a"].member.state.observations.ready


def test_a_newcomer_with_other_options_is_refused_whomever_it_hears() -> None:
    """I2: it may hear all members later, but its options do not change."""
    row = Newcomer(is_open=True, has_options=False, is_apart=True)

    assert Admit.REFUSE is admission().choose((row,), 0).outcome
    assert Admit.WAIT is admission().choose((evolve(row, has_options=True),), 0).outcome


def test_a_guest_whose_answer_is_lost_is_still_taken_in() -> None:
    """J2: it was judged when it said hello, and can be fed in the view."""
    bus = cluster()
    first = bus["a"].member.view

    bus.start(config("d"))
    while bus["a"].member.view == first and bus.now < 60:
        bus.wire = deque(envelope for envelope in bus.wire if not _is_promise_of("d", envelope))
        bus.step()

    view = bus["a"].member.view
    assert view is not None
    assert "d" in {seat.member for seat in view.members}


def _is_promise_of(name: str, envelope: Envelope) -> bool:
    content = envelope.content
    is_its = envelope.sender == name and isinstance(content, bytes)
    return is_its and isinstance(decode(content), Promise)  # type: ignore[arg-type]


def test_a_member_that_hears_a_majority_again_serves_once_the_view_is_confirmed() -> None:
    """3.9: a connection does not prove that the peer has not gone on."""
    bus = cluster()
    bus.partition("a", "b", "c")
    host = bus["a"]
    before = host.member.phase

    host.member.peer_up(bus.now, "b")

    assert (Phase.SUSPENDED, Phase.SUSPENDED) == (before, host.member.phase)
    tip = host.member.view
    assert tip is not None
    asked = host.member.state.reads.last
    host.member.receive(bus.now, "b", Confirmed(tip.id, asked, bus["b"].member.seat))
    assert Phase.ACTIVE is host.member.phase


def test_an_answer_from_before_the_connection_was_lost_confirms_no_view() -> None:
    """3.9: its number shows which question it answers."""
    bus = cluster()
    bus.partition("a", "b", "c")
    host = bus["a"]
    tip = host.member.view
    assert tip is not None
    host.member.peer_up(bus.now, "b")
    old = Confirmed(tip.id, host.member.state.reads.last, bus["b"].member.seat)
    host.member.peer_down(bus.now, "b")
    host.member.peer_up(bus.now, "b")

    host.member.receive(bus.now, "b", old)

    assert Phase.SUSPENDED is host.member.phase


def test_a_member_that_cannot_confirm_is_heard_by_its_connection() -> None:
    """3.9: a member of an earlier version is not asked; its connection is enough."""
    bus = cluster()
    bus.partition("a", "b", "c")

    bus["a"].member.peer_up(bus.now, "b", confirms=False)

    assert Phase.ACTIVE is bus["a"].member.phase


# -- the next view ---------------------------------------------------------------------------------


def test_a_transient_member_waits_for_a_store_and_stops_no_member_over_options() -> None:
    """3.4: a is sure and transient; the only store here was started with other options.

    It may be started again with the view's options, so there is no reason to abort.
    """
    sure = Row(id="a", answered=True, is_member=True, is_sure=True, has_store=False, options="x")
    store = Row(id="b", answered=True, is_elector=True, covers=True, options="y")

    case = going_on().choose((evolve(sure, fits=True), store), 0)

    assert (Next.WAIT, Reason.TOO_FEW_MEMBERS) == (case.outcome, case.reason)


def test_a_close_waits_for_every_member_of_the_view() -> None:
    """S2: a member that has not answered may still acknowledge; its store would not be clean."""
    me = Row(id="a", answered=True, is_member=True, is_elector=True, is_sure=True, closes=True)
    me = evolve(me, fits=True)
    other = Row(id="b", is_member=True)

    assert Next.CHANGE is going_on().choose((me, other), 0).outcome
    assert Next.CLOSE is going_on().choose((me, evolve(other, answered=True)), 0).outcome


def test_a_restart_after_a_close_starts_at_no_other_frame_of_the_same_number() -> None:
    """P2: frame 5 of another view is not the frame 5 of the closed view."""
    chain = views("F C1@F.5 X1@F.5 R")
    closed, restarted = chain["X1"], chain["R"]
    verify_successor(closed, restarted)

    other = Position(chain["C1"].id, 5)

    with pytest.raises(Malformed, match="position of a RESTART"):
        verify_successor(closed, evolve(restarted, position=other))
    verify_successor(closed, evolve(restarted, position=evolve(other, seq=4)))


def test_different_options_stop_members_whatever_their_stores_contain() -> None:
    """I2 comes before I6: they can never start together, and report that."""
    one = Row(id="a", answered=True, is_member=True, is_elector=True, options="x")
    two = evolve(one, id="b", options="y")

    case = going_on().choose((one, two), 0)

    assert (Next.ABORT, Reason.OPTIONS_DIFFER) == (case.outcome, case.reason)


def test_a_member_that_asks_to_be_left_out_is_not_refused_for_its_options() -> None:
    """3.4: it waits until the members know that it has left, and does not come in again."""
    row = Newcomer(is_open=True, has_options=False, leaves=True)

    assert Admit.KNOWN is admission().choose((row,), 0).outcome


def test_a_member_that_is_too_far_behind_is_told_no_view() -> None:
    """3.1: the views that would show that our chain continues its chain are forgotten here."""
    chain = views("F C1 C2 C3 C4")
    lineage = Lineage((chain["C3"], chain["C4"]), chain["F"].id)
    told: list[object] = []
    record = StoreRecord(store_id="a'", lineage=lineage)
    member: Any = SimpleNamespace(record=record, send=lambda peer, what: told.append(what))

    tell(member, "b", chain["C1"].id, 2)
    assert [] == told

    tell(member, "b", chain["C3"].id, 4)
    assert 1 == len(told)


def test_a_ballot_that_was_given_up_holds_no_member_back() -> None:
    """3.3: its ballot was outbid, so no member waits for the end of that ballot."""
    held: Any = SimpleNamespace(
        config=SimpleNamespace(member="a", patience=2.0),
        timers=Timers().given_to(10.0, "a"),
        choice=SimpleNamespace(attempt=None, is_frozen=True),
    )

    assert not _is_held(held, 10.5, "b")
    held.choice.attempt = object()
    assert _is_held(held, 10.5, "b")


def test_an_older_answer_of_the_register_does_not_shorten_a_newer_one() -> None:
    """3.7: answers may overtake each other, and each counts from the time of its question."""
    bus = Bus()
    for name in "abc":
        bus.start(config(name, outside=True))
    bus.wait()
    member = bus["a"].member
    assert member.view is not None
    member.register_free(bus.now, member.view.id, bus.now)
    until = member.state.free_until

    member.register_free(bus.now, member.view.id, bus.now - 0.1)

    assert until == member.state.free_until
