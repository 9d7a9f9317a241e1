"""Proposing: a proposer lets others take their turns first, as more of them may hear each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from joinproto.join import proposing
from joinproto.join.messages import Waiting
from joinproto.join.observations import Observations
from joinproto.join.proposing import _yields
from joinproto.join.step_context import StepContext
from joinproto.join.store import Ballot
from joinproto.join.timers import Timers
from joinproto.join.view import Seat
from tests.join.bus import config
from tests.join.drafts import draft
from tests.join.pictures import lineage, views

YIELDS: Any = SimpleNamespace(yields=lambda *_: True)
STAYS: Any = SimpleNamespace(yields=lambda *_: False)


@pytest.mark.parametrize(
    ("chain", "now", "turns", "expected"),
    [
        ("F C", 15.9, 1, True),
        ("F C", 15.9, 3, True),
        # At most one turn of each member, and as many ballots.
        ("F C", 15.9, 4, False),
        ("F C", 16.0, 1, False),
        # A member that closes or restarts the cluster goes on with the members that are there.
        ("F X", 15.9, 1, False),
        ("F R", 15.9, 1, False),
    ],
)
def test_others_have_their_turns_first_for_a_limited_time(
    chain: str, now: float, turns: int, expected: bool
) -> None:
    """3.4: the tip has three members, and each has a turn of two seconds."""
    *_, view = views(chain).values()
    m = draft("F", timers=Timers(holder="", since=10.0, turns=turns))
    no_evidence: Any = None

    assert expected is _yields(m, now, YIELDS, view, no_evidence)
    assert not _yields(m, now, STAYS, view, no_evidence)


@pytest.mark.parametrize(("members", "until"), [("ab", 16.0), ("abcd", 18.0)])
def test_members_and_electors_have_a_turn_each(members: str, until: float) -> None:
    """3.4: a, b and c are the electors; each may be in a majority that hears each other."""
    chain = f"F C:{members}"
    *_, view = views(f"{chain} C2").values()
    m = draft(chain, timers=Timers(holder="", since=10.0, turns=1))
    no_evidence: Any = None

    assert _yields(m, until - 0.1, YIELDS, view, no_evidence)
    assert not _yields(m, until, YIELDS, view, no_evidence)


def test_a_founding_member_does_not_yield() -> None:
    """3.4: before the founding there are no electors that could be a majority."""
    no_evidence: Any = None

    assert not _yields(draft(), 0.0, YIELDS, views("F")["F"], no_evidence)


@pytest.mark.parametrize(
    ("chain", "ready_in", "expected"),
    [("", "", "bcx"), ("F C:abd", "", "bcdx"), ("F C:abd", "C", "x")],
)
def test_a_started_member_also_waits_for_members_that_may_come_back(
    chain: str, ready_in: str, expected: str
) -> None:
    """3.4: more answers show more data; a, b and c are the electors."""
    found = views(chain).get(ready_in)
    m = draft(
        chain, observations=Observations(in_reach=frozenset("x")), ready_in=found and found.id
    )

    assert set(expected) == proposing.expected(m)


def running() -> StepContext:
    """Return the member `a` of a view in which it was ready."""
    chain = lineage("F C", options=config("a").digest)
    assert chain.tip is not None
    return draft(chain, ready_in=chain.tip.id, held=chain.tip.id, was_active=True)


def test_a_copy_of_a_store_does_not_count() -> None:
    """3.6: `x` and the guest `y` have copies of the store of `b`."""
    m = running()
    answers = [evolve(m.status, seat=Seat(name, "b'")) for name in "bx"]
    heard = Observations(in_reach=frozenset("bxy"), answers=frozenset(answers))
    m.observations = evolve(heard, guests=frozenset({Seat("y", "b'")}))

    view = proposing.proposal(m, 0.0)

    assert view is not None
    assert {"a", "b"} == {seat.member for seat in view.members}


def test_a_member_that_yields_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    m = running()
    monkeypatch.setattr(proposing, "_yields", lambda *_: True)

    assert proposing.proposal(m, 0.0) is None

    (said,) = m.events
    assert isinstance(said, Waiting)
    assert (proposing.BETTER, "this one would be a alone") == (said.case, said.detail)


def test_a_view_has_the_time_of_its_proposal() -> None:
    """3.1: in milliseconds since 1970, computed from `epoch` and `now`."""
    m = running()
    m.setup = evolve(m.setup, epoch=1_000)

    view = proposing.proposal(m, 2.5)

    assert 3_500 == (view and view.time)


def test_a_guest_whose_hello_is_transient_does_not_vote() -> None:
    """3.4: c is here with another store, and has the name of an elector."""
    m = running()
    guest = Seat("c", "c2")
    m.observations = Observations(in_reach=frozenset("c"), guests=frozenset({guest}))
    votes = proposing.proposal(m, 0.0)
    m.observations = evolve(m.observations, transients=frozenset({guest}))

    silent = proposing.proposal(m, 0.0)

    assert votes is not None
    assert guest in votes.electors
    assert silent is not None
    assert guest in silent.members - silent.electors


def test_a_member_that_may_propose_no_view_names_its_table() -> None:
    """4.2: it was restarted, and so were all other members, as far as it knows."""
    m = running()
    m.ready_in = None

    assert proposing.proposal(m, 0.0) is None

    (said,) = m.events
    assert isinstance(said, Waiting)
    assert ("chain-going-on", "too few members") == (said.table, said.case)


def test_two_ballots_of_a_process_have_two_views() -> None:
    """3.1: a view that was given up and a chosen view must not have the same id."""
    m = running()
    first = proposing.proposal(m, 0.0)
    m.write(evolve(m.record, promised=Ballot(2, "a'")))

    second = proposing.proposal(m, 0.0)

    assert first is not None
    assert second is not None
    assert first.id != second.id
