"""The common part of both ways to choose a view, and the way with a register."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.errors import MisuseError
from joinproto.join.choice_messages import (
    Accept,
    Chosen,
    FreeToPropose,
    Nack,
    Outbid,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.join.lineage import Lineage
from joinproto.join.outside import ONE, OutsideChoice
from joinproto.join.store import StoreRecord
from joinproto.join.view import View, change
from tests.join.pictures import lineage, seats, views
from tests.join.test_choice import A, B, V, ballot, choice, promise, sent


def parted() -> Lineage:
    """Return a chain whose tip has the members a, b and c, and the electors c, d and e."""
    first = views("F:abcde")["F"]
    tip = change(
        first,
        members=seats("abc"),
        electors=seats("cde"),
        position=None,
        activated=True,
        nonce="-",
        time=0,
    )
    return Lineage().append(first).append(tip)


def successor(tip: View, members: str, electors: str) -> View:
    return change(
        tip,
        members=seats(members),
        electors=seats(electors),
        position=None,
        activated=True,
        nonce="next",
        time=0,
    )


def test_members_and_electors_are_asked() -> None:
    """3.3: members report their data, and electors choose; they need not be the same."""
    asks = evolve(choice("a"), record=StoreRecord(store_id="a'", lineage=parted()))

    assert ["b", "c", "d", "e"] == [to for to, _ in sent(asks.begin())]


def test_a_promise_that_comes_after_the_proposal_changes_nothing() -> None:
    """3.3: a majority has promised; a later promise can only tell of an earlier ballot."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice
    proposed = asks.propose(A).choice

    step = proposed.receive("c", promise("c", "1a"))

    assert (proposed, ()) == (step.choice, step.effects)


def test_a_view_that_does_not_fit_is_not_proposed() -> None:
    """It is checked before any member accepts it: a chosen view must fit all lineages."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice

    with pytest.raises(Malformed, match="parent"):
        asks.propose(successor(A, "abc", "abc"))


def test_ballots_begin_again_after_a_new_view() -> None:
    """3.3: the later ballot that it heard of was about the former tip."""
    begun = choice("a").begin().choice
    refused = begun.receive("c", Nack(V.id, ballot("1a"), ballot("4c"))).choice

    learned = refused.receive("b", Chosen(V.id, (A,))).choice

    assert ballot("1a") == learned.next_ballot  # type: ignore[attr-defined]


def test_a_vote_counts_for_its_sender() -> None:
    """Here b speaks for c; two votes of one member would choose a view."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice
    proposed = asks.propose(A).choice

    with pytest.raises(Malformed, match="voter"):
        proposed.receive("b", Voted(V.id, ballot("1a"), next(iter(seats("c")))))


def test_a_proposal_that_comes_back_does_not_end_its_own_ballot() -> None:
    """Its own proposal does not end its ballot, but an `Accept` of another ballot does."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice

    own = asks.receive("a", Accept(V.id, ballot("1a"), A))
    other = asks.receive("b", Accept(V.id, ballot("2b"), B))

    assert own.choice.attempt is not None
    assert Outbid(ballot("1a")) not in own.effects
    assert other.choice.attempt is None
    assert Outbid(ballot("2b")) in other.effects


@pytest.mark.parametrize(("known", "number"), [("", 0), ("F", 1)])
def test_a_member_without_views_is_told_a_chain_whose_beginning_is_forgotten(
    known: str, number: int
) -> None:
    """3.2: the initial signature shows where the first kept views belong."""
    late = lineage("F C1 C2 C3", keep=2)
    knows = evolve(choice("b"), record=StoreRecord(store_id="b'", lineage=late))
    tip = lineage(known).tip
    parent = None if tip is None else tip.id

    step = knows.receive("a", Prepare(parent, ballot("1a")))

    assert [("a", Chosen(parent, late.views, late.initial))] == sent(step)
    learned = choice("a", known).receive("b", Chosen(parent, late.views, late.initial)).choice
    assert late == learned.record.lineage


def test_a_chain_with_a_gap_is_not_learned() -> None:
    """3.2: without the initial signature it is unknown whether these views continue our chain."""
    late = lineage("F C1 C2 C3", keep=2)

    for known in ("", "F"):
        store = choice("a", known)
        with pytest.raises(Malformed):
            store.receive("b", Chosen(store.parent, late.views))


# -- a register ----------------------------------------------------------------------------------


def outside(member: str, chain: Lineage | None = None) -> OutsideChoice:
    record = StoreRecord(store_id=f"{member}'", lineage=chain or Lineage())
    return OutsideChoice(member=member, record=record, founders=frozenset("abc"))


def test_a_member_that_may_not_propose_asks_no_register() -> None:
    """3.7: on an open view only members propose; active members look at a newcomer first."""
    with pytest.raises(MisuseError, match="may not propose"):
        outside("d").begin()
    with pytest.raises(MisuseError, match="may not propose"):
        outside("d", parted()).begin()
    with pytest.raises(MisuseError, match="no attempt that is free"):
        outside("a", parted()).propose(V)


def test_all_members_of_a_chosen_view_hear_of_it_with_or_without_a_vote() -> None:
    """3.7: f joins, and is no elector."""
    chain = parted()
    assert chain.tip is not None
    view = successor(chain.tip, "abcf", "cde")

    step = outside("a", chain).decided(view)

    told = [item.to for item in step.effects if isinstance(item, SendTo)]
    assert ["b", "c", "d", "e", "f"] == told


def test_a_register_gets_no_view_that_does_not_fit() -> None:
    """3.7: the register checks no view, and keeps a view for ever."""
    asks = outside("a", parted()).begin().choice

    with pytest.raises(Malformed, match="parent"):
        asks.propose(A)


def test_an_answer_of_a_register_about_an_older_tip_is_ignored() -> None:
    """3.7: all members were told that view."""
    chain = parted()
    knows = outside("a", chain)

    step = knows.decided(chain.views[1])

    assert (knows, ()) == (step.choice, step.effects)


def test_with_a_register_a_member_that_knows_a_later_view_answers_with_that_view() -> None:
    """3.7: it does not freeze."""
    chain = parted()
    first, tip = chain.views
    knows = outside("b", chain)

    step = knows.receive("a", Prepare(first.id, ONE))

    assert (knows, [("a", Chosen(first.id, (tip,)))]) == (step.choice, sent(step))


def test_a_register_is_asked_once_in_an_attempt() -> None:
    """3.7: the proposal does not change, whichever members answer later."""
    chain = parted()
    assert chain.tip is not None
    view = successor(chain.tip, "abc", "cde")
    asks = outside("a", chain).begin().choice
    assert asks.is_free
    proposed = asks.propose(view).choice

    step = proposed.receive("b", Promise(chain.tip.id, ONE, next(iter(seats("b"))), None))

    assert (proposed, ()) == (step.choice, step.effects)
    with pytest.raises(MisuseError, match="no attempt that is free"):
        proposed.propose(view)


def test_the_freeze_is_durable_before_a_register_is_asked() -> None:
    """3.7: the answer also holds for a member that is started again."""
    step = outside("a", parted()).begin()

    assert step.choice.is_frozen
    assert PersistRecord(step.choice.record) == step.effects[0]
    again = step.choice.begin()
    assert not [item for item in again.effects if isinstance(item, PersistRecord)]


def test_a_proposer_without_a_vote_proposes_no_view_that_does_not_fit() -> None:
    """A vote of its own would show that the view does not fit; without a vote this check does."""
    record = StoreRecord(store_id="a'", lineage=parted())
    asks = evolve(choice("a"), record=record).begin().choice
    tip = record.tip
    assert tip is not None
    for name in "cd":
        asks = asks.receive(
            name, Promise(tip.id, ballot("1a"), next(iter(seats(name))), None)
        ).choice
    assert asks.is_free

    with pytest.raises(Malformed, match="parent"):
        asks.propose(A)


@pytest.mark.parametrize(("names", "expected"), [("ab", True), ("ax", False)])
def test_only_founders_may_found_a_cluster(names: str, expected: bool) -> None:
    """I3: two of three electors must answer; x is no elector."""
    founding = evolve(outside("a"), found_with=2)

    assert expected is founding._founders_answered(seats(names))


def test_a_founding_with_a_register_needs_the_answers_of_all_founders() -> None:
    """3.7: before the founding it is unknown which stores there are, with a register or without."""
    steps = [outside("a").begin()]
    for name in "bc":
        (voter,) = seats(name)
        steps.append(steps[-1].choice.receive(name, Promise(None, ONE, voter, None)))

    free = [[item for item in step.effects if isinstance(item, FreeToPropose)] for step in steps]
    assert [[], [], [FreeToPropose(ONE, seats("abc"))]] == free


def test_with_a_register_an_answer_in_the_name_of_another_member_is_refused() -> None:
    """3.7: each source must answer for itself."""
    begun = outside("a").begin().choice
    (c,) = seats("c")

    with pytest.raises(Malformed, match="voter"):
        begun.receive("b", Promise(None, ONE, c, None))


def test_the_successor_of_the_tip_is_added_to_the_known_views() -> None:
    """3.2: the initial signature matters only to a store that does not know the first views."""
    step = choice("a").receive("b", Chosen(V.id, (A,), V.id))

    assert (V, A) == step.choice.record.lineage.views
