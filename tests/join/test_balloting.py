"""Ballots: when a member begins a ballot, and its reactions to answers."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.join import balloting
from joinproto.join.answers import Answer
from joinproto.join.backoff import pause
from joinproto.join.balloting import (
    _tell_of_the_end,
    ask_again,
    consider,
    hear_choice,
    insist,
    reason_to_begin,
    take,
)
from joinproto.join.choice_messages import Chosen, Prepare, Promise, SendTo, Voted
from joinproto.join.chooser import Step
from joinproto.join.greeting import hello
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Refusal, Refused, Waiting
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.step_context import StepContext
from joinproto.join.store import Ballot
from joinproto.join.timers import Timers
from joinproto.join.view import Position, Seat, View, change
from joinproto.machine.vocabulary import Reason
from tests.join.bus import config
from tests.join.drafts import draft, sends
from tests.join.pictures import lineage, seats, views

B, C = Seat("b", "b'"), Seat("c", "c'")
(D,) = seats("d")
OWN = Ballot(1, "a'")
TIP = views("F C")["C"]


def asking(chain: str | Lineage = "F C", **more: object) -> StepContext:
    """Return `a` in a ballot of its own, which no other member has answered."""
    m = draft(chain, **more)
    m.choice = m.choice.begin().choice
    m.timers = m.timers.asking(1.0, OWN)
    return m


def promised(voter: Seat = B, *, by: Seat | None = None, **said: Any) -> Promise:
    return Promise(TIP.id, OWN, voter, None, Answer(seat=by or voter, **said))


# -- why -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "phase", "more", "expected"),
    [
        ("", Phase.INITIALIZING, {}, "found"),
        ("F X", Phase.INITIALIZING, {}, "restart"),
        ("F C", Phase.FROZEN, {}, "finish"),
        ("F C", Phase.INITIALIZING, {"held": TIP.id}, "restarted"),
        ("F C", Phase.INITIALIZING, {}, "other options"),
        ("F C", Phase.ACTIVE, {"leaves": True}, "leave"),
        ("F C", Phase.ACTIVE, {"closes_until": 9.0}, "close"),
        (
            "F C",
            Phase.ACTIVE,
            {"observations": Observations(in_reach=frozenset("bc"), guests=frozenset({D}))},
            "take in",
        ),
        ("F C", Phase.ACTIVE, {"observations": Observations(in_reach=frozenset("b"))}, "give up"),
        ("F C", Phase.ACTIVE, {}, None),
        ("F:bc", Phase.JOINING, {"leaves": True}, None),
    ],
)
def test_a_member_has_a_view_chosen_for_one_reason(
    chain: str, phase: Phase, more: dict[str, object], expected: str | None
) -> None:
    """3.3: a member that serves and misses no member has no reason; nor has a member in no view."""
    heard = Observations(in_reach=frozenset("bc"))

    assert expected == reason_to_begin(draft(chain, phase=phase, **{"observations": heard, **more}))


def test_a_member_whose_ballot_is_free_begins_no_second_ballot() -> None:
    """3.3: a second ballot would void the promises of the first one."""
    m = asking(observations=Observations(in_reach=frozenset("bc"), guests=frozenset({D})))
    assert reason_to_begin(m) is not None

    m.choice = m.choice.receive("b", promised()).choice

    assert m.choice.is_free
    assert reason_to_begin(m) is None


@pytest.mark.parametrize(("names", "expected"), [("", None), ("x", None), ("b", "found")])
def test_only_electors_count_if_some_of_them_may_found(names: str, expected: str | None) -> None:
    """I3: two of three electors may found, and x is not an elector."""
    m = draft("", options={"found_with": 2}, observations=Observations(in_reach=frozenset(names)))

    assert expected == reason_to_begin(m)


# -- answers -------------------------------------------------------------------------------------


def test_an_answer_shows_how_long_messages_take() -> None:
    m = asking()

    hear_choice(m, 1.5, "b", promised())

    assert (0.5, 0.25) == (m.timers.trip, m.timers.spread)
    assert "" == m.timers.holder  # a member that answers takes no time for a ballot of its own


@pytest.mark.parametrize("by", [Seat("b", "b2"), C])
def test_an_answer_of_another_store_or_member_is_refused(by: Seat) -> None:
    m = asking()

    with pytest.raises(Malformed, match="the status of b"):
        hear_choice(m, 1.5, "b", promised(by=by))


def test_a_promise_without_a_status_is_refused() -> None:
    """3.4: the next view is made from the statuses."""
    m = asking()

    with pytest.raises(Malformed, match="the status of b"):
        hear_choice(m, 1.5, "b", evolve(promised(), answer=None))


@pytest.mark.parametrize("answered", [True, False])
def test_a_ballot_that_asks_again_after_some_answers_is_not_measured(answered: bool) -> None:
    """A member may answer late because of another ballot (Karn and Partridge 1987)."""
    m = asking()
    if answered:
        m.choice = m.choice.receive("c", evolve(promised(C))).choice

    insist(m, 2.0)

    assert (() if answered else ((OWN, 1.0),)) == m.timers.asked


def test_no_view_is_proposed_without_a_free_ballot() -> None:
    m = asking()

    consider(m, 2.0, is_patient=False)

    assert [] == m.events


# -- actions of the choice ---------------------------------------------------------------------


def test_a_member_that_answered_no_ballot_still_knows_which_member_is_ready() -> None:
    m = draft("F C", observations=Observations(ready=frozenset({B})))

    take(m, 0.0, Step(m.choice))

    assert {B} == m.observations.ready


def test_a_member_that_asks_counts_as_heard_even_without_a_connection() -> None:
    """3.4: an answer names the members that its sender does not hear."""
    m = draft("F C", promised=Ballot(1, "b'"))

    take(m, 0.0, Step(m.choice, (SendTo("b", Promise(TIP.id, Ballot(1, "b'"), m.seat, None)),)))

    ((to, message),) = sends(m)
    assert "b" == to
    assert isinstance(message, Promise)
    assert {"c"} == message.misses


def proposing() -> StepContext:
    """Return `a` after b and c have answered and it has proposed a view."""
    chain = lineage("F C", options=config("a").digest)
    tip = chain.tip
    assert tip is not None
    here = {"held": tip.id, "ready_in": tip.id, "was_active": True, "phase": Phase.FROZEN}
    m = asking(chain, observations=Observations(in_reach=frozenset("bc")), **here)
    m.observations = m.observations.answered(evolve(m.status, seat=C))

    hear_choice(m, 1.5, "b", Promise(tip.id, OWN, B, None, evolve(m.status, seat=B)))

    assert m.choice.attempt is not None
    assert m.choice.attempt.proposed is not None
    m.sends.clear()
    return m


def test_a_ballot_whose_view_is_proposed_waits_for_no_other_answer() -> None:
    """Patience is for a ballot that is free; a proposal is repeated sooner."""
    m = proposing()
    ask_again(m, 1.5)

    assert m.patience_until is None
    assert [] == sends(m)


def test_an_answer_to_one_attempt_counts_in_no_other_attempt() -> None:
    """3.3: the next attempt asks again, because stores may have changed since."""
    assert set() == proposing().observations.answers


@pytest.mark.parametrize(
    ("chain", "is_done", "tells"),
    [("F X", True, True), ("F X", False, False), ("F C", True, False)],
)
def test_a_member_that_ends_with_the_cluster_tells_all_peers_in_reach(
    chain: str, is_done: bool, tells: bool
) -> None:
    """S2: a member that ends cannot tell of the CLOSE later; a member that goes on is asked."""
    m = draft(chain, is_done=is_done, observations=Observations(in_reach=frozenset("bd")))
    assert m.view is not None

    _tell_of_the_end(m, m.view)

    assert (["b", "d"] if tells else []) == [to for to, _ in sends(m)]


@pytest.mark.parametrize(("outside", "names"), [(False, "bd"), (True, "d")])
def test_members_ask_a_register_themselves_whether_the_cluster_is_closed(
    outside: bool, names: str
) -> None:
    """S2, 3.7: with a register only processes that are no members have to be told."""
    heard = Observations(in_reach=frozenset("bd"))
    m = draft("F X", is_done=True, observations=heard, options={"outside": outside})
    assert m.view is not None

    _tell_of_the_end(m, m.view)

    assert list(names) == [to for to, _ in sends(m)]


@pytest.mark.parametrize(("ready", "expected"), [(False, "restarted"), (True, None)])
def test_a_member_that_was_ready_before_it_was_stopped_has_a_new_view_chosen(
    ready: bool, expected: str | None
) -> None:
    """P1: it continues only through a new view; a member that was not ready becomes ready here."""
    heard = Observations(in_reach=frozenset("bc"))
    m = draft("F C", held=TIP.id, ready_in=TIP.id if ready else None, observations=heard)
    m.phase = Phase.READY

    assert expected == reason_to_begin(m)
    assert reason_to_begin(draft("F C", phase=Phase.UPDATING, observations=heard)) is None


def test_an_answer_to_a_ballot_whose_view_is_proposed_is_not_collected() -> None:
    """3.3: the proposal no longer changes, and another attempt asks again."""
    m = asking()
    assert m.choice.attempt is not None
    m.choice = evolve(m.choice, attempt=evolve(m.choice.attempt, proposed=views("F C C2")["C2"]))

    hear_choice(m, 1.5, "b", promised())

    assert set() == m.observations.answers


def test_an_answer_about_a_former_tip_is_not_collected() -> None:
    """3.3: a late answer about another view is no evidence about this one."""
    m = asking()
    before = views("F C")["F"]

    hear_choice(m, 1.5, "b", evolve(promised(), parent=before.id))

    assert set() == m.observations.answers


@pytest.mark.parametrize(("word", "holder"), [("C", "b"), ("F", "")])
def test_only_a_ballot_about_the_tip_gets_its_time(word: str, holder: str) -> None:
    """3.3: ballots begin again after each view, so an old ballot may equal the promised one."""
    own = Ballot(1, "b'")
    m = draft("F C", promised=own)

    hear_choice(m, 1.5, "b", Prepare(views("F C")[word].id, own))

    assert holder == m.timers.holder


@pytest.mark.parametrize(("now", "heard"), [(10.5, False), (100.0, True)])
def test_a_ballot_is_ignored_while_another_ballot_has_its_time(now: float, heard: bool) -> None:
    """3.3: a member that begins again and again would make all members begin again."""
    b, c = Ballot(1, "b'"), Ballot(2, "c'")
    m = draft("F C", promised=b, timers=Timers().given_to(10.0, "b"))

    hear_choice(m, now, "c", Prepare(TIP.id, c))

    assert (c if heard else b) == m.record.promised
    assert heard is bool(sends(m))
    assert ("c" if heard else "b") == m.timers.holder


def test_a_member_waits_twice_its_patience_for_the_rest_of_the_answers() -> None:
    """3.3: a majority has answered, and c may still answer."""
    m = asking(observations=Observations(in_reach=frozenset("bc")), phase=Phase.FROZEN, held=TIP.id)

    hear_choice(m, 1.5, "b", promised(held=TIP.id))

    assert m.choice.is_free
    assert 1.5 + 2 * pause(m) == m.patience_until


def test_contradicting_stores_are_reported_to_the_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = asking()
    m.choice = m.choice.receive("b", promised()).choice

    def impossible(*_: object) -> None:
        raise Malformed("positions of two sources", Verbatim("a beside b"), "one behind the other")

    monkeypatch.setattr(balloting, "proposal", impossible)
    consider(m, 2.0, is_patient=False)

    (said,) = m.events
    assert isinstance(said, Waiting)
    assert "a beside b" in said.detail


def test_a_member_that_speaks_of_an_unknown_view_gets_a_hello() -> None:
    """3.3: it is ahead, or of another chain: the hello makes both compare their chains."""
    m = draft("F C")

    hear_choice(m, 1.5, "b", Prepare(views("F C C2")["C2"].id, Ballot(1, "b'")))

    assert [("b", hello(m))] == sends(m)
    assert not m.is_frozen


def test_an_answer_about_no_view_has_no_facts_about_the_tip() -> None:
    """This happens only if a rule is left out: a store with a tip answers as if it were empty."""
    m = draft("F C", held=TIP.id)

    take(m, 0.0, Step(m.choice, (SendTo("b", Promise(None, Ballot(1, "b'"), m.seat, None)),)))

    ((_, message),) = sends(m)
    assert isinstance(message, Promise)
    assert Answer(seat=m.seat, options=m.config.digest) == message.answer


# -- a disk that was restored from a backup --------------------------------------------------------

FIRST = views("F C")["F"]
FRAME = Position(TIP.id, 5)
IN_TIP: dict[str, Any] = {"held": TIP.id, "position": FRAME}


def test_an_older_copy_has_no_vote_and_is_told_why() -> None:
    """3.6: b says that it was never ready in a view of which a has a frame."""
    m = asking(observations=Observations(in_reach=frozenset("bc")), phase=Phase.FROZEN, **IN_TIP)

    hear_choice(m, 1.5, "b", promised(held=FIRST.id))

    before = m.choice
    assert before.attempt is not None
    assert (False, frozenset({m.seat})) == (before.is_free, before.attempt.answered)
    assert [("b", hello(m))] == sends(m)
    assert ["b"] == [event.peer for event in m.events if isinstance(event, Refusal)]

    hear_choice(m, 1.6, "c", promised(C, **IN_TIP))
    assert m.choice.is_free
    m.choice = m.choice.propose(_next()).choice
    before = m.choice
    hear_choice(m, 1.7, "b", Voted(TIP.id, OWN, B))
    assert before == m.choice


def test_a_later_answer_shows_that_an_earlier_answer_is_of_an_older_copy() -> None:
    """3.6: a has no frame of the view itself, but c has."""
    m = asking(observations=Observations(in_reach=frozenset("bc")), phase=Phase.FROZEN, held=TIP.id)
    hear_choice(m, 1.5, "b", promised(held=FIRST.id))

    hear_choice(m, 1.6, "c", promised(C, **IN_TIP))

    assert m.choice.attempt is not None
    assert {m.seat, C} == m.choice.attempt.answered
    assert "b" in {to for to, _ in sends(m)}


def test_a_member_that_gets_its_disk_back_counts_again() -> None:
    """3.6: the operator has put back the right disk."""
    m = asking(observations=Observations(in_reach=frozenset("bc")), phase=Phase.FROZEN, **IN_TIP)
    hear_choice(m, 1.5, "b", promised(held=FIRST.id))
    assert {"b"} == m.observations.went_back

    hear_choice(m, 1.6, "b", promised(**IN_TIP))

    assert m.choice.is_free
    assert not m.observations.went_back


def test_a_member_that_finds_its_own_disk_to_be_an_older_copy_ends() -> None:
    """3.6: it also tells the other members, which then report why they wait."""
    m = asking(
        observations=Observations(in_reach=frozenset("bc")), phase=Phase.FROZEN, held=FIRST.id
    )

    hear_choice(m, 1.5, "b", promised(**IN_TIP))

    assert m.verdict is not None
    assert Reason.STORE_WENT_BACK is m.verdict.reason
    refused = Refused(Reason.STORE_WENT_BACK, m.verdict.found, m.verdict.expected)
    assert [("b", refused), ("c", refused)] == sends(m)


def test_a_member_with_an_older_copy_ends_before_it_writes_the_view() -> None:
    """3.6: otherwise it has the data of the view's start, and is ready in it at its next start."""
    m = draft("F", held=FIRST.id)

    hear_choice(m, 1.5, "b", Chosen(FIRST.id, (TIP,), has_frames=True))

    assert m.verdict is not None
    assert m.persist is None
    assert FIRST == m.view


def test_a_chosen_view_without_frames_is_learned() -> None:
    """3.3: b knows the view already, but no client was served in it."""
    m = draft("F", held=FIRST.id)

    hear_choice(m, 1.5, "b", Chosen(FIRST.id, (TIP,)))

    assert m.verdict is None
    assert TIP == m.view


def test_a_member_that_waits_for_older_copies_names_them() -> None:
    """3.6: too few stores are left, and the operator must know why."""
    m = draft("F C", observations=Observations(went_back=frozenset("bc")))

    m.waits("I1", "too few", Reason.TOO_FEW_MEMBERS, "no answer from b, c")
    m.waits("I6", "no clean store", Reason.NO_CLEAN_STORE)

    few, none = [event for event in m.events if isinstance(event, Waiting)]
    assert Reason.STORE_WENT_BACK is few.reason
    assert few.detail.endswith("the stores of b, c")
    assert (Reason.NO_CLEAN_STORE, True) == (none.reason, "of b, c" in none.detail)


def _next() -> View:
    nonce = {"nonce": "-", "time": 0}
    return change(TIP, members=TIP.members, position=FRAME, activated=True, **nonce)  # type: ignore[arg-type]
