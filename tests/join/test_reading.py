"""3.8: a read is answered once a majority has said, after the read began, that the view stands."""

from __future__ import annotations

import pytest

from joinproto.codec.malformed import Malformed
from joinproto.join.choice_messages import Chosen
from joinproto.join.messages import Confirm, Confirmed, ReadRegister, ReadsConfirmed
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.reading import (
    confirm_again,
    doubt,
    hear_confirm,
    hear_confirmed,
    read,
    register_confirms,
    void,
)
from joinproto.join.step_context import StepContext
from joinproto.join.store import Ballot
from joinproto.join.view import Seat
from tests.join.bus import cluster
from tests.join.drafts import draft, sends
from tests.join.pictures import views

B, C = (Seat(name, f"{name}'") for name in "bc")
CHAIN = "F C"
TIP = views(CHAIN)["C"]


def serving(**more: object) -> StepContext:
    """Return `a`, which serves in the tip and hears b and c."""
    heard = Observations(in_reach=frozenset("bc"))
    return draft(
        CHAIN, **({"phase": Phase.ACTIVE, "ready_in": TIP.id, "observations": heard} | more)
    )


def confirmed(m: StepContext) -> list[int]:
    return [action.upto for action in m.actions if isinstance(action, ReadsConfirmed)]


def test_a_read_waits_for_a_majority_of_the_electors() -> None:
    m = serving()

    read(m, 1.0)

    assert [("b", Confirm(TIP.id, 1)), ("c", Confirm(TIP.id, 1))] == sends(m)
    assert [] == confirmed(m)
    hear_confirmed(m, 1.0, "c", Confirmed(TIP.id, 1, C))
    assert [1] == confirmed(m)


def test_a_member_that_is_alone_in_its_majority_asks_no_member() -> None:
    bus = cluster("a", electors="a", wait_for=1)
    member = bus["a"].member

    number = member.read(bus.now)

    assert (1, (ReadsConfirmed(1),)) == (number, member.poll().actions)


def test_reads_that_come_during_a_round_share_the_next_round() -> None:
    """Otherwise an answer that was sent before a read began could confirm that read."""
    m = serving()
    for _ in range(4):
        read(m, 1.0)

    hear_confirmed(m, 1.0, "b", Confirmed(TIP.id, 1, B))

    assert [1] == confirmed(m)
    assert [("b", Confirm(TIP.id, 2)), ("c", Confirm(TIP.id, 2))] == sends(m)[2:]
    hear_confirmed(m, 1.0, "c", Confirmed(TIP.id, 1, C))
    assert [1] == confirmed(m), "an answer to the round before"
    hear_confirmed(m, 1.0, "c", Confirmed(TIP.id, 2, C))
    assert [1, 4] == confirmed(m)


@pytest.mark.parametrize(
    "heard",
    [
        Confirmed(views(CHAIN)["F"].id, 1, B),
        Confirmed(TIP.id, 1, Seat("b", "another store")),
    ],
    ids=["another-view", "another-store"],
)
def test_a_confirmation_of_another_view_or_store_does_not_count(heard: Confirmed) -> None:
    m = serving()
    read(m, 1.0)

    hear_confirmed(m, 1.0, "b", heard)

    assert [] == confirmed(m)


def test_an_answer_to_no_question_or_in_another_name_is_malformed() -> None:
    m = serving()

    with pytest.raises(Malformed, match="number"):
        hear_confirmed(m, 1.0, "b", Confirmed(TIP.id, 1, B))
    with pytest.raises(Malformed, match="seat"):
        hear_confirmed(m, 1.0, "b", Confirmed(TIP.id, 1, C))


@pytest.mark.parametrize(
    ("more", "asked", "answers"),
    [
        ({}, "C", True),
        ({"promised": Ballot(1, "b'")}, "C", False),
        ({}, "F", False),
    ],
    ids=["it-stands", "frozen", "it-is-left"],
)
def test_an_elector_confirms_a_view_until_it_leaves_the_view(
    more: dict[str, object], asked: str, answers: bool
) -> None:
    """A member that has answered a ballot may be in the majority that chose another view."""
    m = draft(CHAIN, **more)

    hear_confirm(m, "b", Confirm(views(CHAIN)[asked].id, 7))

    said = [message for _, message in sends(m)]
    assert ([Confirmed(TIP.id, 7, m.seat)] if answers else []) == [
        one for one in said if isinstance(one, Confirmed)
    ]
    assert (asked == "F") is any(isinstance(one, Chosen) for one in said)


def test_a_member_that_no_longer_serves_confirms_no_read() -> None:
    m = serving()
    read(m, 1.0)

    void(m)
    hear_confirmed(m, 1.0, "b", Confirmed(TIP.id, 1, B))

    assert [] == confirmed(m)


@pytest.mark.parametrize(("older", "calls"), [("b", 1), ("bc", 0)])
def test_members_that_cannot_confirm_are_not_asked(older: str, calls: int) -> None:
    """In a rolling upgrade, no read is taken if no majority can confirm the read."""
    m = serving(observations=Observations(in_reach=frozenset("bc"), older=frozenset(older)))

    read(m, 1.0)

    assert calls == m.reads.called
    assert [("c", Confirm(TIP.id, 1))] * calls == sends(m)


def test_a_member_that_has_not_answered_is_asked_again_at_the_next_heartbeat() -> None:
    m = serving(observations=Observations(in_reach=frozenset("bc")).with_doubt("b", 1))
    read(m, 1.0)
    m.sends.clear()

    confirm_again(m, 2.0)

    assert [("b", Confirm(TIP.id, 1)), ("c", Confirm(TIP.id, 1))] == sends(m)


def test_the_outside_register_confirms_by_an_answer_to_a_later_question() -> None:
    """3.7: an answer to a question from before the read began is too old."""
    m = serving(options={"outside": True})

    read(m, 1.0)

    assert [ReadRegister(TIP.id, 1.0, 1)] == m.actions
    register_confirms(m, 1.0, 0)
    assert [] == confirmed(m)
    register_confirms(m, 1.0, 1)
    assert [1] == confirmed(m)


def test_a_new_connection_is_asked_whether_the_view_stands() -> None:
    """3.9: the connection may lead to a member that has gone on."""
    m = serving()

    doubt(m, "b")

    assert {"b"} == m.observations.doubted
    assert [("b", Confirm(TIP.id, 1))] == sends(m)
    hear_confirmed(m, 1.0, "b", Confirmed(TIP.id, 1, B))
    assert set() == m.observations.doubted


def test_a_member_that_the_others_have_left_confirms_no_read() -> None:
    """They go on without `c`, which does not notice that, and serves in the old view."""
    bus = cluster()
    c = bus["c"]
    asked = c.member.read(bus.now)
    c.perform()
    bus.settle()
    bus.cut = {frozenset("ac"), frozenset("bc")}
    for name in "ab":
        bus.tell(name, lambda member: member.peer_down(bus.now, "c"))
    bus.wait()
    assert (Phase.ACTIVE, 2) == (c.member.phase, bus["a"].member.record.lineage.length)

    late = c.member.read(bus.now)
    c.perform()
    bus.wait()

    assert (1, 2) == (asked, late)
    assert [1] == [one.upto for one in c.told if isinstance(one, ReadsConfirmed)]
