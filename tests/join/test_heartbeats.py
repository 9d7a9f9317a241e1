"""A member's reactions to a heartbeat, and the members that it takes for gone on."""

from __future__ import annotations

import pytest

from joinproto.join.balloting import read_register
from joinproto.join.choice_messages import Chosen
from joinproto.join.heartbeats import hear_heartbeat, heartbeat
from joinproto.join.messages import Heartbeat, Hello, ReadRegister
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.store import Ballot
from joinproto.join.view import Seat
from tests.join.drafts import draft, sends
from tests.join.pictures import seats, views

(B,) = seats("b")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"phase": Phase.JOINING}, True),
        ({"phase": Phase.UPDATING}, True),
        ({"phase": Phase.UPDATING, "source": "c"}, False),
        ({"phase": Phase.READY}, True),
        ({"phase": Phase.READY, "observations": Observations(ready=frozenset({B}))}, False),
        ({"phase": Phase.ACTIVE}, False),
        ({"phase": Phase.SUSPENDED}, False),
        ({"phase": Phase.FROZEN}, False),
    ],
)
def test_a_member_that_still_waits_for_an_answer_says_hello_again(
    fields: dict[str, object], expected: bool
) -> None:
    """3.5: its hello was lost; a member that does not wait for the sender sends no message."""
    m = draft("F C", **fields)
    tip = views("F C")["C"]

    hear_heartbeat(m, "b", Heartbeat(tip.id, 2, B, False))

    assert expected is bool(sends(m))
    assert set() == m.observations.beyond


@pytest.mark.parametrize("promised", [None, Ballot(1, "b'")])
def test_a_heartbeat_has_the_tip_of_its_member_and_whether_it_is_frozen(
    promised: Ballot | None,
) -> None:
    """3.5: the tip and its number, the seat, and whether a ballot about the tip was answered."""
    m = draft("F C", promised=promised)

    assert Heartbeat(views("F C")["C"].id, 2, m.seat, promised is not None) == heartbeat(m)


@pytest.mark.parametrize("beyond", [frozenset(), frozenset({B})])
def test_a_member_that_is_behind_is_told_the_views_and_still_counts_as_gone_on(
    beyond: frozenset[Seat],
) -> None:
    """3.9: it stays so, because a heartbeat from before the tip is old."""
    m = draft("F C", observations=Observations(beyond=beyond))
    before = views("F C")["F"]

    hear_heartbeat(m, "b", Heartbeat(before.id, 1, B, False))

    ((to, told),) = sends(m)
    assert "b" == to
    assert isinstance(told, Chosen)
    assert beyond == m.observations.beyond


@pytest.mark.parametrize(
    ("word", "number", "is_frozen", "asks"),
    [("C2", 3, False, True), ("C1", 2, False, True), ("C", 2, True, False)],
)
def test_a_member_that_is_ahead_or_diverged_or_frozen_has_gone_on(
    word: str, number: int, is_frozen: bool, asks: bool
) -> None:
    """3.5: it counts for no majority, and gets a hello that asks for its views."""
    chain = {"C2": "F C C2", "C1": "F C1", "C": "F C"}[word]
    m = draft("F C", phase=Phase.ACTIVE)

    hear_heartbeat(m, "b", Heartbeat(views(chain)[word].id, number, B, is_frozen))

    assert {B} == m.observations.beyond
    assert asks is any(isinstance(message, Hello) for _, message in sends(m))


@pytest.mark.parametrize(
    ("chain", "options", "expected"),
    [
        ("F C", {"outside": True}, True),
        ("F X", {"outside": True}, False),
        ("", {"outside": True}, False),
        ("F C", {"outside": True, "heartbeat": 0.0}, False),
        ("F C", {}, False),
    ],
)
def test_a_register_is_asked_whether_an_open_view_has_a_successor(
    chain: str, options: dict[str, object], expected: bool
) -> None:
    """3.7: after a CLOSE no client is served, so no member asks."""
    m = draft(chain, options=options)

    read_register(m, 7.0)

    assert ([ReadRegister(m.view.id, 7.0)] if expected and m.view else []) == m.actions


def test_a_heartbeat_of_another_store_shows_that_the_seat_is_absent() -> None:
    """3.6: a view with the member's old store is given up."""
    m = draft("F C")

    hear_heartbeat(m, "b", Heartbeat(views("F C")["C"].id, 2, Seat("b", "other"), False))

    assert {"b"} == m.observations.replaced
