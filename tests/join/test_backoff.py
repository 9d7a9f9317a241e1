"""The order in which members take their turns, and when a member may begin a ballot."""

from __future__ import annotations

import pytest

from joinproto.join.backoff import is_out_of_turn, taking_in
from joinproto.join.choice_messages import Prepare
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.state import Setup
from joinproto.join.store import Ballot
from joinproto.join.timers import Timers
from tests.join.bus import config
from tests.join.drafts import draft
from tests.join.pictures import seats, views


@pytest.mark.parametrize(
    ("me", "in_reach", "guests", "turns"),
    [("b", "ac", "d", 1), ("b", "c", "d", 0), ("b", "ac", "a", 0), ("c", "ab", "", 2)],
)
def test_members_that_are_heard_and_go_before_have_their_turns_first(
    me: str, in_reach: str, guests: str, turns: int
) -> None:
    """3.4: an absent member has no turn, nor has a guest."""
    m = draft("F C", phase=Phase.ACTIVE)
    m.setup = Setup(config(me))
    m.observations = Observations(in_reach=frozenset(in_reach), guests=seats(guests))

    assert 10.0 + 2.0 * turns == taking_in(m, 10.0)


def test_a_process_outside_of_the_view_has_no_turn() -> None:
    """3.4: the view has b and c; a is heard, too, but may begin no ballot."""
    m = draft("F C:bc", phase=Phase.ACTIVE)
    m.setup = Setup(config("c"))
    m.observations = Observations(in_reach=frozenset("ab"))

    assert 12.0 == taking_in(m, 10.0)


@pytest.mark.parametrize(("heartbeat", "expected"), [(0.5, True), (0.0, False)])
def test_without_heartbeats_every_ballot_is_heard(heartbeat: float, expected: bool) -> None:
    """Without heartbeats no message would make an ignored member ask again."""
    tip = views("F C")["C"]
    m = draft("F C", promised=Ballot(1, "b'"), options={"heartbeat": heartbeat})
    m.timers = Timers().given_to(10.0, "b")

    assert expected is is_out_of_turn(m, 10.5, "c", Prepare(tip.id, Ballot(2, "c'")))


def test_a_member_asked_again_in_the_ballot_of_its_acceptance_answers() -> None:
    """3.3: the promise of this ballot was lost on its way."""
    tip = views("F C")["C"]
    m = draft("F C", promised=Ballot(2, "c'"))
    m.timers = Timers().given_to(10.0, "b")

    assert not is_out_of_turn(m, 10.5, "c", Prepare(tip.id, Ballot(2, "c'")))
    assert is_out_of_turn(m, 10.5, "c", Prepare(tip.id, Ballot(3, "c'")))
    # A member that asks about the parent of the tip is told the tip.
    assert not is_out_of_turn(m, 10.5, "c", Prepare(tip.parent, Ballot(3, "c'")))


@pytest.mark.parametrize("phase", [Phase.UPDATING, Phase.READY])
def test_a_view_that_gets_ready_is_not_ended_for_a_newcomer(phase: Phase) -> None:
    """3.4: otherwise no member would ever serve while newcomers come."""
    m = draft("F C", phase=phase)

    assert None is taking_in(m, 10.0)


def test_an_absent_member_is_neither_a_starter_nor_the_holder_of_a_turn() -> None:
    """A member that comes back says again whether it was restarted."""
    held = Timers(holder="b", starters=frozenset("bc"))

    assert Timers(holder="", starters=frozenset("c")) == held.without("b")
    assert Timers(holder="b", starters=frozenset("b")) == held.without("c")
