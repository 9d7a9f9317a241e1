"""The next view: its electors, its members, and where it starts."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.errors import MisuseError
from joinproto.join.answers import Answer, Evidence
from joinproto.join.config import Config, TotalFailure
from joinproto.join.joint_view import CutPairs
from joinproto.join.lineage import Lineage
from joinproto.join.succession import Next
from joinproto.join.view import Kind, Position, Seat, View, change, close
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tests.join.test_joint_view import OPTIONS, SEATS, answered, proposer, tip_of


def next_view(voters: str, *, answering: str) -> View:
    """Return the view after d leaves; a, c, d and e are members, and b is a guest."""
    tip = tip_of("acde", voters)
    leaver = Answer(
        seat=SEATS["d"], held=tip.id, ran_on=True, was_active=True, options=OPTIONS, leaves=True
    )
    guest = Answer(seat=SEATS["b"], options=OPTIONS)
    proposes = evolve(proposer("a", CutPairs()), guests=frozenset({SEATS["b"]}))
    return proposes.view(Kind.CHANGE, answered(tip, answering, d=leaver, b=guest))


def electors(view: View) -> str:
    return "".join(sorted(seat.member for seat in view.electors))


def test_a_guest_without_an_answer_is_not_needed_for_the_next_majority() -> None:
    """The guest may be gone, so `a` would wait for it (seed 30010266)."""
    view = next_view("ad", answering="ad")

    assert "a" == electors(view)
    assert {"a", "b"} == {seat.member for seat in view.members}


def test_a_guest_that_has_answered_votes() -> None:
    assert "ab" == electors(next_view("ad", answering="adb"))


def test_a_guest_without_an_answer_votes_if_the_others_are_a_majority() -> None:
    assert "abc" == electors(next_view("acd", answering="acd"))


def test_if_a_leave_may_make_the_absent_a_majority_an_absent_guest_has_half_of_the_votes() -> None:
    with applied(mutation("left-to-the-absent")):
        assert "ab" == electors(next_view("ad", answering="ad"))


def test_a_leaver_is_left_out_of_a_restart_without_a_clean_store() -> None:
    """I6: no store has the last, unacknowledged frame; a and b start without `c`, which leaves."""
    tip = tip_of("abc", "abc")
    end = close(tip, position=Position(tip.id, 2), activated=True, nonce="-", time=0)
    answers = [
        Answer(
            seat=SEATS[name],
            held=tip.id,
            position=Position(tip.id, 1),
            options=OPTIONS,
            leaves=name == "c",
        )
        for name in "abc"
    ]
    evidence = Evidence.of(Lineage().append(tip).append(end), answers)
    small = evolve(proposer("a", CutPairs()).config, electors=frozenset("abc"), wait_for=2)

    view = evolve(proposer("a", CutPairs()), config=small).view(Kind.RESTART, evidence)

    assert {"a", "b"} == {seat.member for seat in view.members}
    assert Position(tip.id, 1) == view.position


def test_a_member_in_an_unknown_view_was_never_ready_in_the_tip() -> None:
    """3.4: the view is on another branch, so no client was served in the tip."""
    tip = tip_of("abc", "abc")
    other = Answer(seat=SEATS["a"], held="elsewhere", options=OPTIONS)

    assert Evidence.of(Lineage().append(tip), [other]).was_never_served(tip)


def test_one_store_is_enough_for_the_others_to_leave() -> None:
    """3.4: c is transient, but b stores the frames, so d may leave."""
    tip = tip_of("abcd", "abd")
    leaver = Answer(
        seat=SEATS["d"], held=tip.id, ran_on=True, was_active=True, options=OPTIONS, leaves=True
    )
    transient = evolve(leaver, seat=SEATS["c"], transient=True, leaves=False)

    view = proposer("a", CutPairs()).view(Kind.CHANGE, answered(tip, "abcd", c=transient, d=leaver))

    assert {"a", "b", "c"} == {seat.member for seat in view.members}


# -- which members stay, and where the view starts ------------------------------------------------


def says(tip: View, name: str, seq: int | None = None, **more: object) -> Answer:
    """Return the answer of a member at frame `seq` of the tip; by default, it did not restart."""
    at = None if seq is None else Position(tip.id, seq)
    ran: dict[str, object] = {"held": tip.id, "ran_on": True, "was_active": True, **more}
    return Answer(seat=SEATS[name], position=at, options=OPTIONS, **ran)  # type: ignore[arg-type]


def evidence_of(tip: View, *answers: Answer) -> Evidence:
    return Evidence.of(Lineage().append(tip), answers)


def names_of(view: View) -> str:
    return "".join(sorted(seat.member for seat in view.members))


def seq_of(view: View) -> int:
    return 0 if view.position is None else view.position.seq


def test_a_close_starts_at_the_end_of_a_store() -> None:
    """S2: frames that only a member without a store has are lost with its process."""
    tip = tip_of("abc", "abc")

    view = proposer("a", CutPairs()).view(
        Kind.CLOSE,
        evidence_of(tip, says(tip, "a", 1), says(tip, "b", 2, transient=True), says(tip, "c", 1)),
    )

    assert 1 == seq_of(view)


def test_a_view_starts_at_the_end_of_one_of_its_members() -> None:
    """3.4: a has more data, but the others do not hear it, and only members feed each other."""
    tip = tip_of("abcde", "abcde")
    alone = CutPairs(frozenset(("a", other) for other in "bcde"))

    view = proposer("b", alone).view(
        Kind.CHANGE, evidence_of(tip, says(tip, "a", 2), *(says(tip, name, 1) for name in "bcde"))
    )

    assert ("bcde", 1) == (names_of(view), seq_of(view))


def test_one_source_that_stays_is_enough_for_another_source_to_leave() -> None:
    tip = tip_of("abc", "abc")
    answers = [says(tip, "a", 1), says(tip, "b", 1, ran_on=False), says(tip, "c", 1, leaves=True)]

    assert "ab" == names_of(proposer("a", CutPairs()).view(Kind.CHANGE, evidence_of(tip, *answers)))


def test_the_last_member_with_a_store_does_not_leave() -> None:
    """3.4: frames acknowledged in a view without a store are lost with its processes."""
    tip = tip_of("abc", "abc")
    answers = [says(tip, "d", 1, transient=True), says(tip, "a", 1, leaves=True)]

    assert "ad" == names_of(proposer("a", CutPairs()).view(Kind.CHANGE, evidence_of(tip, *answers)))


def test_a_member_whose_store_is_behind_comes_in_if_no_other_with_a_store_stays() -> None:
    """3.4: b gets the data before the view serves clients; e is transient."""
    tip = tip_of("abc", "abc")
    answers = [
        says(tip, "d", 1, transient=True),
        says(tip, "a", 1, leaves=True),
        says(tip, "b", update_unfinished=True),
        says(tip, "e", transient=True, update_unfinished=True),
        says(tip, "c", leaves=True, update_unfinished=True),
        evolve(says(tip, "f", update_unfinished=True), options="others"),
    ]

    assert "bd" == names_of(proposer("a", CutPairs()).view(Kind.CHANGE, evidence_of(tip, *answers)))


def restarted(*answers: Answer, at: int = 2) -> View:
    """Return the restart after a CLOSE at this frame, of a cluster of three that waits for two."""
    tip = tip_of("abc", "abc")
    end = close(tip, position=Position(tip.id, at), activated=True, nonce="-", time=0)
    evidence = Evidence.of(Lineage().append(tip).append(end), answers)
    config = evolve(proposer("a", CutPairs()).config, electors=frozenset("abc"), wait_for=2)
    return evolve(proposer("a", CutPairs()), config=config).view(Kind.RESTART, evidence)


TIP = tip_of("abc", "abc")


def test_the_last_member_with_a_clean_store_does_not_leave() -> None:
    """I6: c covers the CLOSE, but is not clean, and a restart starts where the CLOSE ends."""
    clean = says(TIP, "a", 2, leaves=True)
    view = restarted(clean, says(TIP, "b", update_unfinished=True), says(TIP, "c", 1))

    assert ("abc", 2) == (names_of(view), seq_of(view))


@pytest.mark.parametrize(
    "kept",
    [
        says(TIP, "b", 1, update_unfinished=True),  # its data is incomplete
        says(TIP, "b", 1, transient=True),  # its data ends with its process
    ],
)
def test_without_a_clean_store_the_last_member_with_a_complete_store_does_not_leave(
    kept: Answer,
) -> None:
    view = restarted(says(TIP, "a", 1, leaves=True), kept, says(TIP, "c", update_unfinished=True))

    assert "abc" == names_of(view)


def test_a_restart_starts_at_the_end_of_a_store() -> None:
    """After a total failure, a transient member feeds no other member."""
    view = restarted(says(TIP, "a", 1), says(TIP, "b", 3, transient=True), says(TIP, "c", 1), at=4)

    assert 1 == seq_of(view)


# -- which members vote ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("voters", "expected"), [("abc", ("abd", "ab")), ("bcd", ("abd", "b")), ("e", ("abd", "ab"))]
)
def test_a_founding_omits_a_leaver_and_a_transient_member_does_not_vote(
    voters: str, expected: tuple[str, str]
) -> None:
    """I3: configured electors with a store vote, or else all members with a store."""
    answers = [Answer(seat=SEATS[name], options=OPTIONS) for name in "abc"]
    answers[2] = evolve(answers[2], leaves=True)
    answers.append(Answer(seat=SEATS["d"], options=OPTIONS, transient=True))
    config = Config(member="a", electors=frozenset(voters), wait_for=3)
    proposes = evolve(proposer("a", CutPairs()), config=config)

    view = proposes.view(Kind.FOUND, Evidence.of(Lineage(), answers))

    assert expected == (names_of(view), electors(view))


def test_a_transient_guest_does_not_vote_even_if_it_is_configured() -> None:
    """Its hello said that it is transient; its answer may be lost."""
    tip = tip_of("acd", "acd")
    guest = frozenset({SEATS["b"]})
    proposes = evolve(proposer("a", CutPairs()), guests=guest)

    assert "abcd" == electors(proposes.view(Kind.CHANGE, answered(tip, "acd")))
    silent = evolve(proposes, transients=guest)
    assert "acd" == electors(silent.view(Kind.CHANGE, answered(tip, "acd")))


def test_members_without_a_vote_are_no_majority_of_the_voters() -> None:
    """3.4: without d, which leaves, a and c would vote; c is away, and e has no vote."""
    tip = tip_of("acde", "acd")

    view = next_view_of(tip, says(tip, "a"), says(tip, "e"), says(tip, "d", leaves=True))

    assert "acd" == electors(view)


def next_view_of(tip: View, *answers: Answer) -> View:
    config = Config(member="a", electors=frozenset("acd"), wait_for=3)
    return evolve(proposer("a", CutPairs()), config=config).view(
        Kind.CHANGE, evidence_of(tip, *answers)
    )


def test_a_close_waits_for_a_silent_member_without_a_vote() -> None:
    """S2: the member may still acknowledge frames."""
    tip = tip_of("abcd", "abc")
    proposes = evolve(proposer("a", CutPairs()), closes=True)

    assert Next.CHANGE is proposes.decide(answered(tip, "abc"))[1].outcome
    assert Next.CLOSE is proposes.decide(answered(tip, "abcd"))[1].outcome


def test_a_guest_without_an_answer_votes_if_no_member_leaves() -> None:
    """3.4: no vote is given up, so it does not matter whether b is gone."""
    tip = tip_of("ade", "ad")
    config = Config(member="a", electors=frozenset("ab"), wait_for=3)
    proposes = evolve(proposer("a", CutPairs()), config=config, guests=frozenset({SEATS["b"]}))

    assert "abd" == electors(proposes.view(Kind.CHANGE, answered(tip, "ae")))


@pytest.mark.parametrize(
    ("store", "leaves", "members"), [("b1", False, "abc"), ("b2", False, "ac"), ("b1", True, "ac")]
)
def test_a_guest_that_leaves_or_answers_with_another_store_stays_out(
    store: str, leaves: bool, members: str
) -> None:
    """3.4: a member with another store says hello again."""
    tip = tip_of("acd", "acd")
    other = Answer(seat=Seat("b", store), options=OPTIONS, leaves=leaves)
    proposes = evolve(proposer("a", CutPairs()), guests=frozenset({SEATS["b"]}))

    view = proposes.view(Kind.CHANGE, answered(tip, "acb", b=other))

    assert members == names_of(view)


def test_a_group_of_transient_members_needs_a_member_with_a_store() -> None:
    """3.4: b, c and d are more than a and b, but their frames would be lost with them."""
    tip = tip_of("abcd", "a")
    config = Config(member="b", electors=frozenset("a"), wait_for=3, outside=True)
    transients = [says(tip, name, 1, transient=True) for name in "bcd"]
    cut = CutPairs(frozenset({("a", "c"), ("a", "d")}))
    proposes = evolve(proposer("b", cut), config=config)

    view = proposes.view(Kind.CHANGE, evidence_of(tip, says(tip, "a", 1), *transients))

    assert "ab" == names_of(view)


def test_the_former_store_of_a_member_does_not_vote_besides_the_new_one() -> None:
    """3.4: d leaves but must still vote, because b and e are away; c has another disk."""
    tip = tip_of("abcde", "abcde")
    other = Answer(seat=Seat("c", "c2"), options=OPTIONS)
    proposes = evolve(proposer("a", CutPairs()), guests=frozenset({other.seat}))

    view = proposes.view(
        Kind.CHANGE, evidence_of(tip, says(tip, "a", 1), other, says(tip, "d", 1, leaves=True))
    )

    assert "abcde" == electors(view)
    assert other.seat in view.electors


@pytest.mark.parametrize(
    "newcomer",
    [
        # Its hello did not say that it is transient.
        Answer(seat=SEATS["b"], options=OPTIONS, transient=True),
        # It leaves before it has come in.
        Answer(seat=SEATS["b"], options=OPTIONS, leaves=True),
    ],
)
def test_a_transient_or_leaving_newcomer_does_not_vote(newcomer: Answer) -> None:
    """3.4: votes are missing, because d leaves and c is away."""
    tip = tip_of("acd", "acd")
    proposes = evolve(proposer("a", CutPairs()), guests=frozenset({SEATS["b"]}))
    answers = [says(tip, "a"), says(tip, "d", leaves=True), newcomer]

    assert "acd" == electors(proposes.view(Kind.CHANGE, evidence_of(tip, *answers)))


def test_a_restart_does_not_start_at_the_end_of_an_incomplete_store() -> None:
    """R3: b was being updated, so its data of the tip is incomplete."""
    tip = tip_of("abc", "abc")
    config = Config(member="a", electors=frozenset("abc"), wait_for=2)
    answers = [says(tip, "a", 1), says(tip, "b", 3, update_unfinished=True)]

    view = evolve(proposer("a", CutPairs()), config=config).view(
        Kind.RESTART, evidence_of(tip, *answers)
    )

    assert ("ab", 1) == (names_of(view), seq_of(view))


def test_a_guest_without_an_answer_does_not_vote_if_all_members_leave() -> None:
    """3.4: a and d leave as soon as they may, and b may be gone."""
    tip = tip_of("ade", "ad")
    proposes = evolve(proposer("a", CutPairs()), guests=frozenset({SEATS["b"]}))
    answers = [says(tip, name, leaves=True) for name in "ad"]

    view = proposes.view(Kind.CHANGE, evidence_of(tip, *answers))

    assert ("abd", "ad") == (names_of(view), electors(view))


# -- change or restart -----------------------------------------------------------------------


def test_members_that_were_all_started_with_other_options_restart() -> None:
    """3.4: a RESTART may change options, a CHANGE may not; no client was served in this view."""
    tip = tip_of("abc", "abc")
    config = Config(
        member="a", electors=frozenset("abc"), wait_for=2, total_failure=TotalFailure.AUTOMATIC
    )
    answers = [Answer(seat=SEATS[name], options=config.digest) for name in "abc"]

    _, case = evolve(proposer("a", CutPairs()), config=config).decide(evidence_of(tip, *answers))

    assert Next.RESTART is case.outcome


def test_no_restart_begins_with_stores_that_lack_acknowledged_frames() -> None:
    """I6: c has the other frames, and is away."""
    tip = tip_of("abc", "abc")
    config = Config(
        member="a", electors=frozenset("abc"), wait_for=2, total_failure=TotalFailure.AUTOMATIC
    )
    unfinished = [
        Answer(seat=SEATS[name], held=tip.id, update_unfinished=True, options=OPTIONS)
        for name in "ab"
    ]

    _, case = evolve(proposer("a", CutPairs()), config=config).decide(evidence_of(tip, *unfinished))

    assert "no store has all of the tip" == case.name


def test_one_member_that_was_active_is_enough_for_an_activated_view() -> None:
    """W1: an activated view does not need N members; b has not noticed that it was active."""
    tip = tip_of("abc", "abc")
    answers = [says(tip, "a", 1), says(tip, "b", 1, was_active=False)]

    assert proposer("a", CutPairs()).view(Kind.CHANGE, evidence_of(tip, *answers)).activated


def test_the_new_store_of_an_elector_votes_even_if_it_is_not_configured() -> None:
    """3.6: this CHANGE makes it an elector, because c is an elector of the tip."""
    tip = tip_of("abc", "abc")
    other = Answer(seat=Seat("c", "c2"), options=OPTIONS)
    config = Config(member="a", electors=frozenset("ab"), wait_for=2)
    proposes = evolve(proposer("a", CutPairs()), config=config, guests=frozenset({other.seat}))

    view = proposes.view(Kind.CHANGE, evidence_of(tip, says(tip, "a", 1), says(tip, "b", 1), other))

    assert {SEATS["a"], SEATS["b"], other.seat} == view.electors


def test_a_view_that_no_answer_leads_to_is_not_made() -> None:
    """3.4: no member ran on since the tip, so no store is known to have all frames."""
    tip = tip_of("abc", "abc")
    stopped = [says(tip, name, 1, ran_on=False) for name in "abc"]

    with pytest.raises(MisuseError, match="no store has the data"):
        proposer("a", CutPairs()).view(Kind.CHANGE, evidence_of(tip, *stopped))


# -- a disk that was restored from a backup --------------------------------------------------------


@pytest.mark.parametrize("total_failure", list(TotalFailure))
def test_an_old_copy_of_one_store_does_not_lose_the_frames_of_the_others(
    total_failure: TotalFailure,
) -> None:
    """3.6: b alone suggests that no client was served in the last view."""
    first = tip_of("abc", "abc")
    start = Position(first.id, 1)
    last = change(first, members=first.members, position=start, activated=True, nonce="v", time=0)
    chain = Lineage().append(first).append(last)
    new = {"held": last.id, "position": Position(last.id, 9), "options": OPTIONS}
    answers = [
        Answer(seat=SEATS["a"], **new),  # type: ignore[arg-type]
        Answer(seat=SEATS["b"], held=first.id, position=start, options=OPTIONS),
        Answer(seat=SEATS["c"], **new),  # type: ignore[arg-type]
    ]
    config = evolve(
        proposer("a", CutPairs()).config,
        electors=frozenset("abc"),
        wait_for=2,
        total_failure=total_failure,
    )
    proposes = evolve(proposer("a", CutPairs()), config=config)

    def ends() -> tuple[Next, int | None]:
        evidence = Evidence.of(chain, answers)
        _, case = proposes.decide(evidence)
        kind = case.outcome.kind
        return case.outcome, None if kind is None else seq_of(proposes.view(kind, evidence))

    permitted = total_failure is TotalFailure.AUTOMATIC
    assert ends() == ((Next.RESTART, 9) if permitted else (Next.WAIT, None))
    with applied(mutation("backup-believed")):
        assert (Next.CHANGE, 1) == ends()
