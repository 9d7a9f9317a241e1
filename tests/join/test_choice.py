"""Choosing a view: one store's promises and votes, and the order of durable writes."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.errors import MisuseError
from joinproto.join.choice import Choice
from joinproto.join.choice_messages import (
    Accept,
    ChoiceMessage,
    Chosen,
    FreeToPropose,
    Learned,
    Nack,
    Outbid,
    OutOfStep,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.join.chooser import Step
from joinproto.join.lineage import Lineage
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Position, Seat, View, change
from tests.join.pictures import lineage, views

V = views("F")["F"]
A = views("F C1")["C1"]
B = views("F C2")["C2"]
FIVE = "F:abcde"


def ballot(text: str) -> Ballot:
    """Return a ballot: `1b` is the first ballot of member b's store."""
    return Ballot(int(text[:-1]), f"{text[-1]}'")


def seat(name: str) -> Seat:
    return Seat(name, f"{name}'")


def choice(member: str, chain: str = "F", *, store: str | None = None) -> Choice:
    """Return the choice of `member`, whose store knows `chain` and has answered no member."""
    record = StoreRecord(store_id=store or f"{member}'", lineage=lineage(chain))
    return Choice(member=member, record=record, founders=frozenset("abc"))


def accepted(text: str, view: View) -> Accepted:
    return Accepted(ballot(text), view)


def promise(voter: str, text: str, told: Accepted | None = None) -> Promise:
    return Promise(V.id, ballot(text), seat(voter), told)


def asked(text: str) -> Prepare:
    return Prepare(V.id, ballot(text))


def sent(step: Step) -> list[tuple[str, ChoiceMessage]]:
    return [(item.to, item.message) for item in step.effects if isinstance(item, SendTo)]


def kinds(step: Step) -> list[str]:
    """Return the names of the effects and messages in their order."""
    return [
        type(item.message if isinstance(item, SendTo) else item).__name__ for item in step.effects
    ]


def after_restart(step: Step) -> Choice:
    """Return the choice after a crash, from the persisted record alone."""
    written = [item.record for item in step.effects if isinstance(item, PersistRecord)]
    now = step.choice
    return Choice(member=now.member, record=written[-1], founders=now.founders)


# -- ballots -------------------------------------------------------------------------------


def test_a_ballot_is_durable_before_it_is_used() -> None:
    """3.3: ballots are durable before use."""
    step = choice("a").begin()

    assert kinds(step) == ["PersistRecord", "Prepare", "Prepare"]
    assert after_restart(step).record.promised == ballot("1a")


def test_a_ballot_is_never_used_twice() -> None:
    """3.3: ballots are never reused, not even after a crash, and carry the store_id."""
    first = choice("a").begin()

    second = after_restart(first).begin()

    assert sent(second)[0] == ("b", asked("2a"))


def test_the_next_ballot_is_later_than_any_that_was_promised_or_heard_of() -> None:
    """Otherwise the proposer would be refused again."""
    promised = choice("a").receive("b", asked("7b")).choice
    begun = choice("a").begin().choice
    refused = begun.receive("c", Nack(V.id, ballot("1a"), ballot("4c"))).choice

    assert isinstance(promised, Choice)
    assert isinstance(refused, Choice)
    assert promised.next_ballot == ballot("8a")
    assert refused.next_ballot == ballot("5a")
    both = refused.receive("b", asked("7b")).choice
    assert isinstance(both, Choice)
    assert both.next_ballot == ballot("8a")


def test_a_wiped_proposer_uses_other_ballots() -> None:
    """3.3: ballots carry the store_id; a wiped store has forgotten which ballots it used."""
    assert choice("a", store="new").next_ballot not in {ballot(f"{n}a") for n in range(1, 9)}


# -- answering freezes ---------------------------------------------------------------------


def test_a_member_that_answers_freezes_durably() -> None:
    """3.3: a member that answers freezes; stores freeze durably."""
    step = choice("b").receive("a", asked("1a"))

    assert kinds(step) == ["PersistRecord", "Promise"]
    assert not choice("b").is_frozen
    assert step.choice.is_frozen
    assert after_restart(step).is_frozen


def test_a_member_that_asks_freezes_as_well() -> None:
    """A proposer counts its own answer, too."""
    assert choice("a").begin().choice.is_frozen


def test_a_member_that_knows_the_successor_is_no_longer_frozen() -> None:
    """3.3: the ballot ends in a view, so that no member stays frozen."""
    frozen = choice("b").receive("a", asked("1a")).choice

    step = frozen.receive("a", Chosen(V.id, (A,)))

    assert not step.choice.is_frozen
    assert not after_restart(step).is_frozen


def test_an_answer_has_the_accepted_view() -> None:
    """3.3: the answer is its status, with its accepted view."""
    voted = choice("b").receive("a", Accept(V.id, ballot("1a"), A)).choice

    answer = sent(voted.receive("c", asked("2c")))

    assert answer == [("c", promise("b", "2c", accepted("1a", A)))]


def test_the_refusal_of_an_earlier_ballot_names_the_later_ballot() -> None:
    """A member that has promised a ballot accepts no view in an earlier ballot."""
    promised = choice("b").receive("c", asked("1c")).choice

    for message in (asked("1a"), Accept(V.id, ballot("1a"), A)):
        step = promised.receive("a", message)
        assert sent(step) == [("a", Nack(V.id, ballot("1a"), ballot("1c")))]
        assert step.choice == promised


def test_a_question_that_comes_twice_is_answered_twice() -> None:
    """The first answer may be lost; its promise or vote is durable already."""
    first = choice("b").receive("a", asked("1a"))
    vote = first.choice.receive("a", Accept(V.id, ballot("1a"), A))

    again = first.choice.receive("a", asked("1a"))
    accepted_again = vote.choice.receive("a", Accept(V.id, ballot("1a"), A))

    assert sent(again) == sent(first)
    assert sent(accepted_again) == sent(vote)
    assert ["Promise", "Voted"] == kinds(again) + kinds(accepted_again)


# -- proposing -----------------------------------------------------------------------------


def test_a_view_of_its_own_is_proposed_once_a_majority_has_answered() -> None:
    """3.3: V's successor is chosen by a majority of V's electors."""
    begun = choice("a").begin()
    free = begun.choice.receive("b", promise("b", "1a"))

    step = free.choice.propose(A)

    assert "FreeToPropose" not in kinds(begun)
    assert free.effects == (FreeToPropose(ballot("1a"), frozenset({seat("a"), seat("b")})),)
    assert kinds(step) == ["PersistRecord", "Accept", "Accept"]
    assert after_restart(step).record.accepted == accepted("1a", A)


def test_an_accepted_view_is_honoured_first() -> None:
    """3.3: an accepted value is honoured first; only else 3.4 decides."""
    begun = choice("c").begin().choice

    step = begun.receive("b", promise("b", "1c", accepted("1a", A)))

    assert sent(step) == [(name, Accept(V.id, ballot("1c"), A)) for name in "ab"]
    with pytest.raises(MisuseError, match="no attempt that is free"):
        step.choice.propose(B)


@pytest.mark.parametrize(
    ("own", "heard", "begins"),
    [
        (("1a", A), ("2b", B), "3c"),
        # The acceptance that is heard last is of an earlier ballot.
        (("2b", B), ("1a", A), "3c"),
        # Two acceptances of one round: the store's id decides, as between any two ballots.
        (("1a", A), ("1b", B), "2c"),
        (("1b", B), ("1a", A), "2c"),
    ],
)
def test_the_latest_of_several_accepted_views_is_honoured(
    own: tuple[str, View], heard: tuple[str, View], begins: str
) -> None:
    """Only the view of the latest ballot can have been chosen."""
    mine = choice("c").receive(own[0][-1], Accept(V.id, ballot(own[0]), own[1])).choice
    begun = mine.receive("b", asked(heard[0])).choice.begin().choice

    step = begun.receive("b", promise("b", begins, accepted(*heard)))

    assert sent(step)[0] == ("a", Accept(V.id, ballot(begins), B))


def test_only_members_propose_on_an_open_view() -> None:
    """3.3: on an open view only its members propose."""
    with pytest.raises(MisuseError, match="may not propose"):
        choice("d").begin()
    with pytest.raises(MisuseError, match="may not propose"):
        choice("a", store="new").begin()
    assert choice("d", "F X").begin().choice.is_frozen


def test_a_member_that_promises_a_later_ballot_gives_up_its_own() -> None:
    """It could no longer vote for its own proposal, so its host backs off."""
    begun = choice("a").begin().choice

    step = begun.receive("b", asked("1b"))

    assert kinds(step) == ["PersistRecord", "Outbid", "Promise"]
    assert step.choice.receive("c", promise("c", "1a")) == Step(step.choice)


def test_a_later_promise_is_reported_to_the_host_that_still_waits() -> None:
    """3.4: a CLOSE needs the answers of all members, not of a majority."""
    free = choice("a").begin().choice.receive("b", promise("b", "1a")).choice

    step = free.receive("c", promise("c", "1a"))

    assert step.effects == (FreeToPropose(ballot("1a"), frozenset(map(seat, "abc"))),)


# -- whose votes count ----------------------------------------------------------------------------


def test_every_member_may_answer_but_only_electors_count() -> None:
    """3.3: every member may answer, only electors count in the majority."""
    outsider = choice("d").receive("a", asked("1a"))
    begun = choice("a").begin().choice

    step = begun.receive("d", promise("d", "1a"))

    assert kinds(outsider) == ["PersistRecord", "Promise"]
    assert step.effects == ()


def test_a_stranger_never_votes() -> None:
    """3.6: a wiped elector has the elector's name, but not its store."""
    stranger = choice("b", store="new")

    assert stranger.receive("a", Accept(V.id, ballot("1a"), A)) == Step(stranger)


def test_the_answer_of_a_stranger_does_not_count() -> None:
    """3.6: the stranger has forgotten its promises and votes."""
    begun = choice("a").begin().choice
    proposed = begun.receive("b", promise("b", "1a")).choice.propose(A).choice
    wiped = Seat("c", "new")

    assert begun.receive("c", Promise(V.id, ballot("1a"), wiped, None)).effects == ()
    assert proposed.receive("c", Voted(V.id, ballot("1a"), wiped)).effects == ()


def test_a_vote_is_durable_before_it_is_reported() -> None:
    """Otherwise a crash could take back a vote that was counted."""
    step = choice("b").receive("a", Accept(V.id, ballot("1a"), A))

    assert kinds(step) == ["PersistRecord", "Voted"]
    assert after_restart(step).record.accepted == accepted("1a", A)


def test_an_answer_in_the_name_of_another_member_is_refused() -> None:
    """A member may send only its own answers."""
    begun = choice("a").begin().choice

    with pytest.raises(Malformed, match="voter"):
        begun.receive("c", promise("b", "1a"))


# -- learning ------------------------------------------------------------------------------


def test_a_view_that_a_majority_accepted_is_learned_and_sent_to_all() -> None:
    """3.2: a member that learns a chosen view has it on its lineage, durably, before it says so."""
    free = choice("a").begin().choice.receive("b", promise("b", "1a")).choice

    step = free.propose(A).choice.receive("c", Voted(V.id, ballot("1a"), seat("c")))

    assert kinds(step) == ["PersistRecord", "Learned", "Chosen", "Chosen"]
    assert after_restart(step).record.lineage == lineage("F C1")
    assert sent(step) == [(name, Chosen(V.id, (A,))) for name in "bc"]


def test_a_lone_elector_chooses_at_once() -> None:
    """Its own vote is a majority."""
    alone = evolve(V, members=frozenset({seat("a")}), electors=frozenset({seat("a")}), wait_for=1)
    record = StoreRecord(store_id="a'", lineage=Lineage().append(alone))
    after = change(alone, members=alone.members, position=None, activated=True, nonce="n", time=0)

    begun = Choice(member="a", record=record).begin()
    step = begun.choice.propose(after)

    assert "FreeToPropose" in kinds(begun)
    assert Learned((after,)) in step.effects


def test_a_member_that_knows_a_later_view_answers_with_that_view() -> None:
    """3.3: it answers with the later view, and does not freeze."""
    ahead = choice("b", "F C1 C2")
    later = tuple(views("F C1 C2").values())[1:]

    for message in (asked("1a"), Accept(V.id, ballot("1a"), B)):
        assert ahead.receive("a", message) == Step(ahead, (SendTo("a", Chosen(V.id, later)),))


def test_a_store_that_missed_several_views_learns_them_in_one_message() -> None:
    """The last of them is the store's tip afterwards."""
    later = tuple(views("F C1 C2").values())[1:]

    step = choice("a").receive("b", Chosen(V.id, later))

    assert step.choice.record.lineage == lineage("F C1 C2")
    assert Learned(later) in step.effects


def test_a_second_successor_is_never_learned() -> None:
    """`one_successor`: never continue after a broken invariant."""
    with pytest.raises(Malformed, match="view 2 of this chain"):
        choice("a", "F C1").receive("b", Chosen(V.id, (B,)))


def test_a_second_view_in_one_ballot_is_refused() -> None:
    """A ballot is the attempt of one store, for one view."""
    voted = choice("b").receive("a", Accept(V.id, ballot("1a"), A)).choice

    with pytest.raises(Malformed, match="view of one ballot"):
        voted.receive("a", Accept(V.id, ballot("1a"), B))


def test_a_view_that_cannot_follow_is_not_accepted() -> None:
    """If a chosen view fitted no lineage, the cluster could not go on."""
    odd = change(V, members=V.members, position=Position("x", 1), activated=True, nonce="n", time=0)

    with pytest.raises(Malformed, match="position"):
        choice("b").receive("a", Accept(V.id, ballot("1a"), odd))


def test_an_answer_with_a_view_that_cannot_follow_is_refused() -> None:
    """3.3: it is refused even before a majority has answered; else it would bind the ballot."""
    begun = choice("a", FIVE).begin().choice

    with pytest.raises(Malformed, match="parent"):
        begun.receive("b", Promise(begun.parent, ballot("1a"), seat("b"), accepted("1c", A)))


def test_an_unknown_parent_is_reported_to_the_host() -> None:
    """3.3: the host must first learn V, or the parent is of another chain."""
    behind = choice("b")
    message = Prepare(A.id, ballot("1a"))

    assert behind.receive("a", message) == Step(behind, (OutOfStep("a", A.id),))


def test_an_answer_that_comes_after_the_choice_changes_nothing() -> None:
    """The answer is about the former tip."""
    ahead = choice("a", "F C1")

    for message in (
        promise("b", "1a"),
        Voted(V.id, ballot("1a"), seat("b")),
        Nack(V.id, ballot("1a"), ballot("1b")),
        Chosen(V.id, (A,)),
    ):
        assert ahead.receive("b", message) == Step(ahead)


# -- founding ------------------------------------------------------------------------------


def test_a_founding_needs_the_answers_of_all_configured_electors() -> None:
    """I3, and the lost disk: a member without its store looks like a new member."""
    begun = choice("a", "").begin().choice

    two = begun.receive("b", Promise(None, ballot("1a"), seat("b"), None))
    three = two.choice.receive("c", Promise(None, ballot("1a"), seat("c"), None))

    assert two.effects == ()
    assert three.effects == (FreeToPropose(ballot("1a"), frozenset(map(seat, "abc"))),)


def test_a_founding_view_is_chosen_by_a_majority_of_its_own_electors() -> None:
    """Only the view says which store each elector has."""
    wiped = choice("b", "", store="new")
    accept = Accept(None, ballot("1a"), V)

    assert kinds(choice("b", "").receive("a", accept)) == ["PersistRecord", "Voted"]
    assert wiped.receive("a", accept).effects == ()


def test_a_founding_view_has_no_electors_that_are_not_configured() -> None:
    """A member that is not configured as an elector must not be counted on."""
    narrow = evolve(choice("b", ""), founders=frozenset("ab"))

    with pytest.raises(Malformed, match="electors of a FOUND"):
        narrow.receive("a", Accept(None, ballot("1a"), V))


def test_a_member_that_is_not_a_configured_elector_founds_no_cluster() -> None:
    """It asks later to be taken in."""
    with pytest.raises(MisuseError, match="may not propose"):
        choice("d", "").begin()


def test_losing_a_ballot_to_an_accept_is_reported() -> None:
    """The `Prepare` of the later proposer may have been lost."""
    begun = choice("a").begin().choice

    step = begun.receive("b", Accept(V.id, ballot("1b"), B))

    assert Outbid(ballot("1b")) in step.effects
    assert step.choice.attempt is None


def test_only_voters_without_a_vote_are_asked_again() -> None:
    """3.3: of these names, only electors that have not voted are asked."""
    asks = choice("a").begin().choice.receive("b", promise("b", "1a")).choice
    proposed = asks.propose(A).choice
    accept = Accept(V.id, ballot("1a"), A)

    assert [("c", accept)] == sent(proposed.ask("cd"))
    assert [("b", accept), ("c", accept)] == sent(proposed.ask("abcd"))
    assert [] == sent(proposed.ask("d"))


def test_a_member_that_has_voted_is_not_asked_again() -> None:
    """3.3: a and b have voted; one more vote of five is missing, so c, d and e are asked."""
    begun = choice("a", FIVE).begin().choice
    for name in "bc":
        begun = begun.receive(name, Promise(begun.parent, ballot("1a"), seat(name), None)).choice
    view = views(f"{FIVE} C1")["C1"]
    proposed = begun.propose(view).choice

    voted = proposed.receive("b", Voted(begun.parent, ballot("1a"), seat("b"))).choice

    assert ["c", "d", "e"] == [to for to, _ in sent(voted.ask("bcde"))]


def test_a_member_without_a_ballot_asks_no_member() -> None:
    """3.3: it has begun no ballot, or has promised a later ballot."""
    assert Step(choice("a")) == choice("a").ask("bc")
    outbid = choice("a").begin().choice.receive("b", asked("1b")).choice
    assert Step(outbid) == outbid.ask("bc")


def test_a_member_that_accepted_a_view_accepts_another_view_in_a_later_ballot() -> None:
    """3.3: c has asked a majority, and no member of that had accepted the first view."""
    voted = choice("b").receive("a", Accept(V.id, ballot("1a"), A)).choice

    step = voted.receive("c", Accept(V.id, ballot("2c"), B))

    assert ["PersistRecord", "Voted"] == kinds(step)
    assert accepted("2c", B) == after_restart(step).record.accepted


def test_a_refusal_of_an_earlier_ballot_does_not_end_the_present_ballot() -> None:
    """3.3: the refusal is late: its ballot is earlier than the present one."""
    begun = choice("a").begin().choice
    again = begun.receive("c", Nack(V.id, ballot("1a"), ballot("4c"))).choice.begin().choice

    assert Step(again) == again.receive("b", Nack(V.id, ballot("1a"), ballot("2b")))


def test_votes_in_a_ballot_without_a_proposal_choose_no_view() -> None:
    """3.3: no correct member sends such votes, and they do not end the ballot."""
    begun = choice("a").begin().choice
    for name in "bc":
        step = begun.receive(name, Voted(V.id, ballot("1a"), seat(name)))
        begun = step.choice
        assert () == step.effects

    free = begun.receive("b", promise("b", "1a")).choice

    assert ["PersistRecord", "Accept", "Accept"] == kinds(free.propose(A))


def test_a_proposer_without_a_vote_accepts_no_view() -> None:
    """3.3: a leaves, and lets b and c found the cluster; a's record does not have their view."""
    begun = choice("a", "").begin().choice
    for name in "bc":
        begun = begun.receive(name, Promise(None, ballot("1a"), seat(name), None)).choice

    step = begun.propose(views("F:bc")["F"])

    assert ["Accept", "Accept"] == kinds(step)
    assert step.choice.record.accepted is None
