"""Changes of a member when a view is chosen, and when other members become ready."""

from __future__ import annotations

from typing import Any

import pytest

from joinproto.join.learning import hear_ready, learn
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Learned, Ready, Refusal
from joinproto.join.observations import Observations
from joinproto.join.step_context import StepContext
from joinproto.join.store import Ballot
from joinproto.join.timers import Timers
from joinproto.join.view import View, change
from tests.join.drafts import draft, sends
from tests.join.pictures import lineage, seats, views

(A,) = seats("a")
(B,) = seats("b")


def learned(chain: str | Lineage, *, at: float = 0.0, **more: object) -> StepContext:
    """Return `a` after it has learned the last view of this chain."""
    m = draft(chain, **more)
    assert m.view is not None
    learn(m, at, (m.view,))
    return m


def refusals(m: StepContext) -> list[str]:
    return [item.what for item in m.events if isinstance(item, Refusal)]


# -- a new view ----------------------------------------------------------------------------------


def test_facts_of_the_former_view_are_forgotten() -> None:
    """3.3: these facts are about the former tip."""
    m = learned(
        "F C",
        was_active=True,
        tries=3,
        leave_told=True,
        source="b",
        free_until=9.0,
        patience_until=9.0,
        observations=Observations(in_reach=frozenset("b"), ready=frozenset({B})),
        timers=Timers(trip=1.0, spread=0.5, holder="b", turns=3),
    )

    assert (False, 0, False) == (m.was_active, m.tries, m.leave_told)
    assert (None, None, None) == (m.source, m.free_until, m.patience_until)
    assert Observations(in_reach=frozenset("b")) == m.observations
    assert Learned(tip_of(m)) == m.events[0]
    assert Timers(trip=1.0, spread=0.5) == m.timers  # the measured times stay


# -- a shutdown of all ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"ready_in": "the view that is closed"}, True),
        ({"saw_it_run": True}, True),
        ({"closes_until": 9.0}, True),
        ({}, False),
    ],
)
def test_a_close_ends_members_that_ran_or_saw_the_view_run_or_asked_for_it(
    known: dict[str, Any], expected: bool
) -> None:
    """S2: a member that was started after the CLOSE takes part in the restart."""
    m = learned("F X", **known)

    assert (expected, None) == (m.is_done, m.closes_until)


def test_an_open_view_ends_no_member() -> None:
    assert not learned("F C", ready_in="F", saw_it_run=True, closes_until=9.0).is_done


@pytest.mark.parametrize(
    ("chain", "now", "closes"),
    [
        # A member that asked in time, or was never left out, may still stop the others.
        ("F C:bc", 8.9, True),
        ("F C:abc", 9.1, True),
        # A member that was left out of the view, or of its parent, may not: the others went on.
        ("F C:bc", 9.0, False),
        ("F C1:bc C2:abc", 9.0, False),
        ("F C1:bc C2:abc", 8.9, True),
    ],
)
def test_a_request_to_close_is_void_after_the_others_continued_for_long(
    chain: str, now: float, closes: bool
) -> None:
    """S2: the member reports that it may not stop the others."""
    m = learned(chain, at=now, closes_until=9.0)

    assert closes is m.closes
    assert ([] if closes else ["it may not stop the others: they went on without it"]) == refusals(
        m
    )


def test_a_forgotten_view_counts_as_one_with_the_member() -> None:
    """3.2: of many chosen views, only the last view is still known."""
    assert learned(lineage("F C1 C2", keep=1), at=9.1, closes_until=9.0).closes


# -- leaving -------------------------------------------------------------------------------------


def chosen(members: str, electors: str) -> Lineage:
    tip = views("F")["F"]
    view = change(
        tip,
        members=seats(members),
        electors=seats(electors),
        position=None,
        activated=True,
        nonce="-",
        time=0,
    )
    return Lineage().append(tip).append(view)


def leaving(members: str, electors: str, *, leave_told: bool = False) -> StepContext:
    return learned(chosen(members, electors), leaves=True, leave_told=leave_told)


def test_the_only_elector_has_left_when_it_knows_that_it_is_left_out() -> None:
    """3.4: no other member votes, so no other member has to know."""
    assert leaving("bc", "a").is_done
    assert not leaving("bc", "abc").is_done
    assert not learned(chosen("bc", "a")).is_done  # it does not leave: it was given up


def test_a_member_that_is_in_the_view_still_has_not_left() -> None:
    """3.4: the others did not know that it leaves, so it asks again."""
    m = leaving("abc", "a")

    assert (False, True, []) == (m.is_done, m.leaves, refusals(m))


def test_a_leaving_member_that_the_others_keep_gives_up_its_leave() -> None:
    m = leaving("abc", "a", leave_told=True)

    assert (False, False) == (m.is_done, m.leaves)
    assert ["it may not leave: no store would stay, or too few"] == refusals(m)


def test_a_member_that_was_left_out_continues_to_leave() -> None:
    m = leaving("bc", "abc", leave_told=True)

    assert (False, True, []) == (m.is_done, m.leaves, refusals(m))


def test_a_member_that_never_was_in_a_view_does_not_leave_it() -> None:
    """It waits for the others, and ends when its host tells it to."""
    m = draft("F:bc", leaves=True)
    assert m.view is not None

    learn(m, 0.0, (m.view,))

    assert (False, True) == (m.is_done, m.leaves)


def test_a_leaver_ends_when_a_majority_of_the_others_is_ready_without_it() -> None:
    """3.4: these no longer need it; of three electors, one besides the leaver is enough."""
    m = leaving("bc", "abc")
    tip = tip_of(m)

    hear_ready(m, "b", Ready(tip.id, B))

    assert m.is_done


def test_a_member_that_does_not_vote_frees_no_leaver() -> None:
    m = leaving("bcd", "abc")
    (d,) = seats("d")

    hear_ready(m, "d", Ready(tip_of(m).id, d))

    assert {d} == m.observations.ready
    assert not m.is_done


def test_a_member_of_the_tip_has_not_left_whichever_others_are_ready() -> None:
    m = draft("F C", leaves=True)

    hear_ready(m, "b", Ready(tip_of(m).id, B))

    assert not m.is_done


@pytest.mark.parametrize("outside", [True, False])
def test_with_a_register_one_ready_member_is_enough_for_a_leaver(outside: bool) -> None:
    """3.7: the register tells the others; without one, b is no majority with the leaver."""
    m = learned(chosen("bcde", "abcde"), leaves=True, options={"outside": outside})

    hear_ready(m, "b", Ready(tip_of(m).id, B))

    assert outside is m.is_done


# -- others are ready ----------------------------------------------------------------------------


def tip_of(m: StepContext) -> View:
    assert m.view is not None
    return m.view


def test_a_ready_member_answers_another_ready_member_once() -> None:
    """I8: the other member may have learned of the view after our own message."""
    m = draft("F C")
    m.ready_in = tip_of(m).id
    said = Ready(tip_of(m).id, B)

    hear_ready(m, "b", said)
    hear_ready(m, "b", said)

    assert {B} == m.observations.ready
    assert [("b", Ready(tip_of(m).id, A))] == sends(m)
    assert not m.is_done  # a member that leaves would be done


def test_a_member_that_is_not_ready_does_not_answer() -> None:
    m = draft("F C")

    hear_ready(m, "b", Ready(tip_of(m).id, B))

    assert {B} == m.observations.ready
    assert [] == sends(m)
    assert m.saw_it_run


def test_a_process_outside_of_the_view_gets_no_answer() -> None:
    m = draft("F C:ac")
    m.ready_in = tip_of(m).id

    hear_ready(m, "b", Ready(tip_of(m).id, B))

    assert [] == sends(m)


def test_a_member_that_has_answered_a_ballot_counts_no_member_as_ready() -> None:
    """3.3: it becomes neither ready nor active in this view, but knows that the view ran."""
    m = draft("F C", promised=Ballot(1, "b'"))

    hear_ready(m, "b", Ready(tip_of(m).id, B))

    assert set() == m.observations.ready
    assert m.saw_it_run


@pytest.mark.parametrize(("peer", "word"), [("b", "F"), ("c", "C")])
def test_ready_of_another_view_or_from_another_member_does_not_count(peer: str, word: str) -> None:
    m = draft("F C")

    hear_ready(m, peer, Ready(views("F C")[word].id, B))

    assert set() == m.observations.ready
    assert not m.saw_it_run


def test_a_store_that_knows_no_view_hears_of_no_ready_member() -> None:
    m = draft()

    hear_ready(m, "b", Ready(views("F")["F"].id, B))

    assert set() == m.observations.ready
