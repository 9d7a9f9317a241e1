"""Waiting: each row of the table is reached, and each text names members."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.answers import Answer
from joinproto.join.awaiting import Awaited, Wait, awaiting, detail_of, row_of, unanswered
from joinproto.join.chooser import Attempt
from joinproto.join.config import Config
from joinproto.join.member import Member
from joinproto.join.messages import Hello, Waiting
from joinproto.join.observations import Observations
from joinproto.join.phases import Facts
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.view import Seat, View, change
from joinproto.machine.vocabulary import Reason
from tests.join.bus import cluster
from tests.join.pictures import lineage, views

A, B, C = (Seat(name, f"{name}'") for name in "abc")
B2 = Seat("b", "b2")
CONFIG = Config(member="a", electors=frozenset("abc"), wait_for=2)
TIP = views("F:abc")["F"]
NO_TIP = Facts()
STANDS = Facts(has_tip=True, is_open=True, is_member=True, has_data=True, is_ready=True)
ALL_READY = evolve(STANDS, all_ready=True, has_n=True)


def heard(names: str = "", **more: object) -> Observations:
    return evolve(Observations(in_reach=frozenset(names)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "seen", "tip", "config", "awaited", "detail"),
    [
        (NO_TIP, heard("b"), None, CONFIG, Awaited.FOUNDERS, "no connection to c"),
        (
            NO_TIP,
            heard("bc"),
            None,
            evolve(CONFIG, electors=frozenset("bc")),
            Awaited.FOUNDING,
            "the electors are b, c",
        ),
        (NO_TIP, heard("bc"), None, CONFIG, Awaited.FOUNDING, "the electors are b, c"),
        (
            NO_TIP,
            heard(),
            None,
            evolve(CONFIG, electors=frozenset("a")),
            Awaited.FOUNDING,
            "the electors are nobody",
        ),
        (evolve(STANDS, is_member=False), heard(), TIP, CONFIG, Awaited.VIEW, "not here: a with"),
        (
            evolve(STANDS, is_member=False),
            heard("b", replaced=frozenset("b")),
            TIP,
            CONFIG,
            Awaited.VIEW,
            "not here: a with store a', b with store b', c",
        ),
        (
            evolve(STANDS, is_member=False),
            heard("b"),
            TIP,
            CONFIG,
            Awaited.ENTRY,
            "asks b; does not hear a with store a', c",
        ),
        (
            evolve(STANDS, has_data=False),
            heard("bc"),
            TIP,
            CONFIG,
            Awaited.SOURCE,
            "not ready: b, c",
        ),
        (STANDS, heard("bc", ready=frozenset({B})), TIP, CONFIG, Awaited.READY, "not ready: c"),
        (evolve(STANDS, all_ready=True), heard("bc"), TIP, CONFIG, Awaited.MORE, "3 of 2"),
        (
            ALL_READY,
            heard("bc"),
            TIP,
            evolve(CONFIG, outside=True),
            Awaited.REGISTER,
            "no answer from the register",
        ),
        (
            ALL_READY,
            heard("b", beyond=frozenset({B})),
            TIP,
            CONFIG,
            Awaited.MAJORITY,
            "not heard, or on the way to another view: b, c",
        ),
        (
            ALL_READY,
            heard("bc", answers=frozenset({Answer(seat=B)})),
            TIP,
            CONFIG,
            Awaited.MAJORITY,
            "not heard, or on the way to another view: b",
        ),
        (
            ALL_READY,
            heard("b"),
            TIP,
            CONFIG,
            Awaited.MAJORITY,
            "not heard, or on the way to another view: c",
        ),
    ],
)
def test_a_member_that_waits_names_the_awaited_members(
    facts: Facts,
    seen: Observations,
    tip: View | None,
    config: Config,
    awaited: Awaited,
    detail: str,
) -> None:
    """One case for each row, in the order of the rows."""
    case = awaiting().choose((row_of(facts, seen, tip, config, A),), 0)

    assert awaited is case.outcome
    assert detail_of(awaited, seen, tip, config, A).startswith(detail)


def test_each_value_of_awaited_has_a_row() -> None:
    """A row that no member reaches would be useless, so `Awaited` has one value for each row."""
    assert set(Awaited) == {case.outcome for case in awaiting().cases}
    assert Awaited.MAJORITY is awaiting().choose((Wait(),), 0).outcome
    assert Awaited.MORE is awaiting().choose((Wait(has_n=False, votes=False),), 0).outcome


def test_a_member_that_did_not_answer_a_ballot_is_named_with_the_store_that_was_asked() -> None:
    """If no member were named, an operator would not know which one to look for."""
    one = Attempt(Ballot(1, "a'"), frozenset({A}))
    strange = Observations(in_reach=frozenset("b")).answered(Answer(seat=B2)).with_store_of(B2, TIP)
    asked = (TIP, CONFIG, A)

    assert "no answer from b, c" == unanswered(one, {"b"}, heard("b"), *asked)
    # It also waits for a member that does not vote, because that member may have the data.
    assert "no answer from b, c, d" == unanswered(one, {"d"}, heard("bd"), *asked)
    joined = evolve(CONFIG, electors=frozenset("ax"))  # later the view's electors vote
    assert "no answer from b, c" == unanswered(one, {"b"}, heard("b"), TIP, joined, A)
    # Where no cluster is founded, the configured electors are asked.
    assert "no answer from b, c" == unanswered(one, {"b"}, heard("b"), None, CONFIG, A)
    assert "no answer from c; no vote from b with store b'" == unanswered(
        one, {"b"}, strange, *asked
    )
    both = strange.answered(Answer(seat=C))
    assert "no vote from b with store b'" == unanswered(one, {"b"}, both, *asked)
    voted = Observations(in_reach=frozenset("b")).answered(Answer(seat=B))
    assert "no answer from c" == unanswered(one, {"b"}, voted, *asked)
    proposed = evolve(one, proposed=TIP, voted=frozenset({A, C}))
    assert "no vote from b" == unanswered(proposed, set(), heard("bc"), *asked)
    # The parent's electors choose the next view; a FOUND is chosen by its own.
    fewer = change(TIP, members={A}, electors={A}, position=None, activated=True, nonce="-", time=0)
    less = evolve(one, proposed=fewer, voted=frozenset({A, C}))
    assert "no vote from b" == unanswered(less, set(), heard("bc"), *asked)
    assert "no vote from b" == unanswered(proposed, set(), heard("bc"), None, CONFIG, A)
    outside = (TIP, evolve(CONFIG, outside=True), A)
    assert "no answer from the register" == unanswered(proposed, set(), heard("bc"), *outside)


# -- the member reports it -----------------------------------------------------------------------


def _said(member: Member, now: float) -> list[Waiting]:
    found_now = []
    member.tick(now)
    while batch := member.poll():
        found_now += [event for event in batch.events if isinstance(event, Waiting)]
        member.advance(batch)
    return found_now


def _started(electors: str = "abc", *, views: str = "", names: str = "") -> Member:
    config = Config(member="a", electors=frozenset(electors), wait_for=2, heartbeat=0)
    record = StoreRecord(store_id="a9", lineage=lineage(views)) if views else None
    record = record or StoreRecord(store_id="a9")
    return Member.start(0, config, record, seed="s", in_reach=frozenset(names))


def test_a_member_that_waits_for_founders_reports_it_at_each_end_of_its_patience() -> None:
    """Before the end of its patience a founder may still come."""
    member = _started(names="b")
    assert 2.0 == member.deadline

    (first,) = _said(member, 2.0)
    (again,) = _said(member, 4.0)

    assert "founders are not here" == first.case
    assert "no connection to c" == first.detail
    assert Reason.TOO_FEW_MEMBERS is first.reason
    assert "chain-awaiting" == first.table
    assert first == again


def test_a_wiped_member_reports_that_no_member_of_the_view_is_present() -> None:
    """Both members have other stores than the view that they know, so neither may propose."""
    member = _started("ab", views="F:ab", names="b")
    tip = member.view
    assert tip is not None
    stranger = Answer(seat=Seat("b", "b9"), options=member.config.digest)
    member.receive(0, "b", Hello(stranger, tip.id, 1, tip.id, "cluster", frozenset("a")))

    (told,) = _said(member, 2.0)

    assert "nobody of the view is here" == told.case
    assert "not here: a with store a', b with store b'" == told.detail


def test_a_serving_member_reports_no_wait_and_an_asking_member_names_silent_members() -> None:
    """3.5: b and c are gone; a asks them, whether they are in reach or not, and names them."""
    bus = cluster()
    assert [None] * 3 == [bus[name].member.state.says_at for name in "abc"]

    for name in "bc":
        bus["a"].member.peer_down(bus.now, name)
    begun = _said(bus["a"].member, bus.now + 100)
    (told,) = _said(bus["a"].member, bus.now + 200)

    assert [] == begun
    assert "no answer from b, c" == told.detail
