"""Who votes in the next view, where somebody leaves and a newcomer comes in at once."""

from __future__ import annotations

from attrs import evolve

from joinproto.join.answers import Answer, Evidence
from joinproto.join.lineage import Lineage
from joinproto.join.together import Apart
from joinproto.join.view import Kind, Position, View, close
from models.mutations.mutation import applied
from models.mutations.named import mutation
from tests.join.test_together import OPTIONS, SEATS, answered, proposer, tip_of


def next_view(voters: str, *, answering: str) -> View:
    """Of a, c, d and e, of whom these vote, d leaves; b is a guest."""
    tip = tip_of("acde", voters)
    leaver = Answer(
        seat=SEATS["d"], held=tip.id, ran_on=True, was_active=True, options=OPTIONS, leaves=True
    )
    guest = Answer(seat=SEATS["b"], options=OPTIONS)
    proposes = evolve(proposer("a", Apart()), guests=frozenset({SEATS["b"]}))
    return proposes.view(Kind.CHANGE, answered(tip, answering, d=leaver, b=guest))


def electors(view: View) -> str:
    return "".join(sorted(seat.member for seat in view.electors))


def test_a_guest_that_has_not_answered_is_no_majority_s_half() -> None:
    """Known by its hello alone, it may have gone: `a` would then wait for it (seed 30010266)."""
    view = next_view("ad", answering="ad")

    assert "a" == electors(view)
    assert {"a", "b"} == {seat.member for seat in view.members}


def test_a_guest_that_has_answered_votes() -> None:
    assert "ab" == electors(next_view("ad", answering="adb"))


def test_a_guest_that_has_not_answered_votes_where_the_others_are_a_majority() -> None:
    assert "abc" == electors(next_view("acd", answering="acd"))


def test_the_rule_left_out_gives_half_of_the_votes_to_who_is_not_there() -> None:
    with applied(mutation("left-to-the-absent")):
        assert "ab" == electors(next_view("ad", answering="ad"))


def test_behind_a_close_without_a_clean_store_whoever_leaves_is_left_out() -> None:
    """I6: no store has the last frame, which nobody acknowledged; a and b start without `c`."""
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
    small = evolve(proposer("a", Apart()).config, electors=frozenset("abc"), wait_for=2)

    view = evolve(proposer("a", Apart()), config=small).view(Kind.RESTART, evidence)

    assert {"a", "b"} == {seat.member for seat in view.members}
    assert Position(tip.id, 1) == view.position


def test_a_view_that_is_not_known_says_nothing_of_being_ready() -> None:
    """3.4: its member was ready in a view of another branch, so this one was never active."""
    tip = tip_of("abc", "abc")
    other = Answer(seat=SEATS["a"], held="elsewhere", options=OPTIONS)

    assert Evidence.of(Lineage().append(tip), [other]).was_never_served(tip)


def test_one_store_is_enough_for_the_others_to_leave() -> None:
    """3.4: that c keeps nothing holds nobody back; b keeps what is written."""
    tip = tip_of("abcd", "abd")
    leaver = Answer(
        seat=SEATS["d"], held=tip.id, ran_on=True, was_active=True, options=OPTIONS, leaves=True
    )
    nothing = evolve(leaver, seat=SEATS["c"], transient=True, leaves=False)

    view = proposer("a", Apart()).view(Kind.CHANGE, answered(tip, "abcd", c=nothing, d=leaver))

    assert {"a", "b", "c"} == {seat.member for seat in view.members}
