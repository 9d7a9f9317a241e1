"""A member's observations of the others, their changes by a new view, and derived facts."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.answers import Answer
from joinproto.join.config import Config
from joinproto.join.observations import Observations
from joinproto.join.view import Seat, View, change, close
from tests.join.pictures import views

A, B, C = (Seat(name, f"{name}'") for name in "abc")
B2 = Seat("b", "b2")
D = Seat("d", "d1")


@pytest.fixture
def tip() -> View:
    return views("F:abc")["F"]


def _answer(seat: Seat) -> Answer:
    return Answer(seat=seat, options="options")


def test_a_member_that_is_no_longer_heard_is_neither_a_guest_nor_a_stranger(tip: View) -> None:
    """3.4: nor is its other store known: it may come back with its old store."""
    heard = Observations().with_peer("d").with_guest(D).with_stranger("d")

    assert Observations() == heard.without_peer("d")
    assert Observations() == Observations().with_peer("b").with_store_of(B2, tip).without_peer("b")


def test_a_new_view_keeps_the_connected_peers_and_the_guests(tip: View) -> None:
    heard = Observations(in_reach=frozenset("bcd")).with_guest(B).answered(_answer(B))
    heard = heard.with_ready(C).with_beyond(C).with_stranger("c").with_store_of(B2, tip)
    guests = heard.with_guest(D, transient=True).with_guest(Seat("e", "e1"))

    left = Observations(in_reach=frozenset("bcd")).with_guest(D, transient=True)
    assert left.with_guest(Seat("e", "e1")) == guests.for_tip(tip)


def test_the_last_answer_of_a_member_says_which_members_it_does_not_hear() -> None:
    """The next ballot asks again which members it does not hear."""
    heard = (
        Observations().answered(_answer(B), frozenset("ad")).answered(_answer(C), frozenset("d"))
    )

    assert {("b", "a"), ("b", "d"), ("c", "d")} == heard.apart.pairs
    assert {("c", "d")} == heard.answered(_answer(B2)).apart.pairs
    assert heard.answers == heard.for_new_ballot().answers
    assert Observations() == heard.without_answers() == heard.for_new_ballot().without_answers()


def test_only_members_and_electors_of_the_tip_are_missed(tip: View) -> None:
    """Newcomers are not missed: each names in its hello the members that it hears."""
    heard = Observations(in_reach=frozenset("bde"))

    assert {"c"} == heard.misses(tip, A)
    assert set() == heard.misses(None, A)


def test_a_close_leaves_no_guest(tip: View) -> None:
    end = close(tip, position=None, activated=False, nonce="-", time=0)

    assert Observations() == Observations().with_guest(D, transient=True).for_tip(end)


def test_the_last_store_of_a_member_counts() -> None:
    heard = Observations().answered(_answer(B)).answered(_answer(B2)).with_guest(B).with_guest(B2)

    assert {B2} == {item.seat for item in heard.answers} == heard.guests
    assert {"c"} == heard.silent({"b", "c"})


def test_a_member_that_has_answered_or_gone_on_does_not_count_for_the_majority(tip: View) -> None:
    both = Observations(in_reach=frozenset("bc"))

    assert both.is_majority(tip, A)
    assert both.without_peer("b").is_majority(tip, A)
    assert not both.without_peer("b").with_beyond(C).is_majority(tip, A)
    assert not both.answered(_answer(B)).answered(_answer(C)).is_majority(tip, A)
    assert both.with_beyond(B).is_majority(tip, A)
    assert not both.with_doubt("b", 1).with_doubt("c", 2).is_majority(tip, A)
    assert both.with_doubt("b", 1).with_doubt("c", 2).without_doubt("c", 2).is_majority(tip, A)
    assert not both.with_doubt("b", 1).with_doubt("c", 2).without_doubt("c", 1).is_majority(tip, A)


def test_a_member_lacks_members_that_are_absent_or_have_another_store(tip: View) -> None:
    both = Observations(in_reach=frozenset("bc"))

    assert not both.lacks(tip, A)
    assert both.without_peer("c").lacks(tip, A)
    assert both.with_store_of(B2, tip).lacks(tip, A)
    assert (
        both
        == both.with_store_of(B, tip)
        == both.with_store_of(D, tip)
        == both.with_store_of(B2, None)
    )
    c2 = Seat("c", "c2")
    assert {"b", "c"} == both.with_store_of(B2, tip).with_store_of(c2, tip).replaced


def test_a_copy_has_the_id_of_the_store_of_another_member(tip: View) -> None:
    copy = Seat("d", B.store_id)

    assert Observations().is_copy(copy, tip, A)
    assert not Observations().is_copy(D, tip, A)
    assert not Observations().is_copy(B, tip, A)
    assert Observations().with_guest(D).is_copy(Seat("e", D.store_id), None, A)
    assert Observations().answered(_answer(D)).is_copy(Seat("e", D.store_id), None, A)
    assert Observations().is_copy(
        Seat("e", A.store_id), None, A
    )  # if there is no view, the member's own store counts


def test_a_member_is_cut_off_if_too_many_peers_are_strangers(tip: View) -> None:
    config = Config(member="a", electors=frozenset("abc"), wait_for=2)
    outside = evolve(config, outside=True)
    one = Observations().with_stranger("b")
    both = one.with_stranger("c")

    assert not one.is_cut_off(tip, A, config)
    assert both.is_cut_off(tip, A, config)
    assert not one.is_cut_off(tip, A, outside)
    assert both.is_cut_off(tip, A, outside)
    # With a register N members are enough, whether they vote or not.
    more = evolve(tip, members=tip.members | {D})
    assert both.is_cut_off(more, A, config)
    assert not both.is_cut_off(more, A, outside)


def test_a_member_is_cut_off_if_all_its_configured_peers_are_strangers(
    tip: View,
) -> None:
    """J3: it is not cut off if it is configured with no elector but itself."""
    config = Config(member="a", electors=frozenset("ab"), wait_for=2)
    alone = evolve(config, electors=frozenset("a"))

    assert Observations().with_stranger("b").is_cut_off(tip, A, config)
    assert not Observations().with_stranger("b").is_cut_off(tip, A, alone)
    assert not Observations().is_cut_off(tip, A, config)


def test_a_transient_guest_stays_transient_when_another_guest_comes(tip: View) -> None:
    """Otherwise it would become an elector when another newcomer says hello."""
    heard = Observations().with_guest(D, transient=True).with_guest(Seat("e", "e1"))

    assert {D} == heard.transients
    assert not heard.with_guest(D).transients
    assert {D} == heard.without_peer("e").transients == heard.without_peer("e").guests
    assert not heard.without_peer("d").transients


def without_c(tip: View) -> View:
    """Return the next view, in which c votes but is no member."""
    return change(
        tip,
        members=tip.members - {C},
        electors=tip.electors,
        position=None,
        activated=True,
        nonce="-",
        time=0,
    )


def test_an_absent_elector_is_not_a_copy_of_itself(tip: View) -> None:
    """3.6: it is no member of the tip, but a guest with its store's id is a copy of it."""
    without = without_c(tip)
    heard = Observations().with_guest(Seat("d", C.store_id))

    assert C in without.electors
    assert not heard.is_copy(C, without, A)
    assert heard.is_copy(Seat("e", C.store_id), without, A)


def test_a_member_that_does_not_vote_has_a_store_of_its_own(tip: View) -> None:
    more = evolve(tip, members=tip.members | {D})

    assert Observations().is_copy(Seat("e", D.store_id), more, A)
    assert not Observations().is_copy(D, more, A)


def test_a_member_that_is_no_longer_a_guest_is_no_longer_transient() -> None:
    heard = Observations().with_guest(D, transient=True)
    beside = Seat("e", "e1")

    assert Observations() == heard.without_guest(D)
    assert Observations().with_guest(beside) == heard.with_guest(beside).without_guest(D)
    assert heard == heard.with_guest(beside).without_guest(beside)


def test_a_member_is_cut_off_by_electors_of_the_view_that_are_not_configured(tip: View) -> None:
    """3.4: a joined later, and is configured with a and d; b and c would never answer."""
    config = Config(member="a", electors=frozenset("ad"), wait_for=2)

    assert Observations().with_stranger("b").with_stranger("c").is_cut_off(tip, A, config)


def test_a_member_without_a_vote_and_an_elector_outside_of_the_view_are_missed(tip: View) -> None:
    """3.4: in a view with it, each member would have to hear it."""
    more = evolve(tip, members=tip.members | {D})

    assert set("bcd") == Observations().misses(more, A)
    assert set("bc") == Observations().misses(without_c(tip), A)
