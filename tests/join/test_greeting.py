"""A member's answers to a hello, and members that can never be in one cluster."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.answers import Answer
from joinproto.join.greeting import hear_hello, hear_refused
from joinproto.join.greeting import hello as say_hello
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Hello, Refused, Welcome
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.view import Position, change
from joinproto.machine.vocabulary import Reason
from tests.join.drafts import draft, sends
from tests.join.pictures import lineage, seats

CHAIN = lineage("F C")
(D,) = seats("d")


def held_of(chain: Lineage) -> ViewId | None:
    return None if chain.tip is None or not chain.tip.is_open else chain.tip.id


def hello(chain: Lineage = CHAIN, hears: str = "abc", **status: object) -> Hello:
    """Return the hello of `d`, whose store knows this chain but has none of its data."""
    said = Answer(seat=D, options="options", update_unfinished=True, **status)  # type: ignore[arg-type]
    tip = chain.tip
    assert tip is not None
    return Hello(said, tip.id, chain.length, chain.initial, "cluster", frozenset(hears))


@pytest.mark.parametrize(("chain", "hears"), [("", "bc"), ("F C:bc", "bc"), ("F C", "")])
def test_only_the_hello_of_a_newcomer_names_the_members_that_it_hears(
    chain: str, hears: str
) -> None:
    """3.4: in a view, a newcomer must hear each member; a member tells this in a ballot."""
    m = draft(chain, observations=Observations(in_reach=frozenset("bc")))

    assert frozenset(hears) == say_hello(m).hears


@pytest.mark.parametrize(("phase", "expected"), [(Phase.ACTIVE, True), (Phase.SUSPENDED, False)])
def test_a_member_that_serves_has_a_newcomer_updated(phase: Phase, expected: bool) -> None:
    """J1: a member that hears no majority may not know where the data ends."""
    m = draft(CHAIN, phase=phase, was_active=True, held=held_of(CHAIN))

    hear_hello(m, 0.0, "d", hello())

    assert expected is any(isinstance(message, Welcome) for _, message in sends(m))


@pytest.mark.parametrize(("picture", "expected"), [("F C", True), ("F C:bc", False)])
def test_only_a_member_of_the_view_takes_in_a_newcomer(picture: str, expected: bool) -> None:
    """J2: a newcomer with the view's data comes in by the next view, which its members propose."""
    chain = lineage(picture)
    m = draft(chain, observations=Observations(in_reach=frozenset("bcd")), held=held_of(chain))

    hear_hello(m, 0.0, "d", evolve(hello(chain), status=Answer(seat=D, options="options")))

    assert expected is (D in m.observations.guests)


@pytest.mark.parametrize(
    ("chain", "hears", "kept"), [("F C", "ac", False), ("F C", "abc", True), ("F X", "abc", True)]
)
def test_a_guest_that_no_longer_hears_all_members_is_dropped(
    chain: str, hears: str, kept: bool
) -> None:
    """3.4: in one view, two members that are apart would give each other up."""
    known = lineage(chain)
    heard = Observations(in_reach=frozenset("bcd"), guests=frozenset({D}))
    m = draft(known, phase=Phase.ACTIVE, was_active=True, observations=heard, held=held_of(known))

    hear_hello(m, 0.0, "d", hello(known, hears))

    assert kept is (D in m.observations.guests)


@pytest.mark.parametrize(
    ("chain", "ran_on", "expected"),
    [("F C", True, True), ("F C", False, False), ("F", True, False)],
)
def test_a_member_that_ran_on_shows_that_the_view_ran(
    chain: str, ran_on: bool, expected: bool
) -> None:
    """S2: a CLOSE after this view is then meant for this member, too."""
    m = draft(CHAIN, held=held_of(CHAIN))

    hear_hello(m, 0.0, "d", hello(lineage(chain), ran_on=ran_on))

    assert expected is m.saw_it_run


def test_a_member_that_ran_on_to_a_close_shows_no_later_view() -> None:
    """S2: it ran before the CLOSE; a member that was started after it takes part in the restart."""
    closed = lineage("F X")
    m = draft(closed)

    hear_hello(m, 0.0, "d", hello(closed, ran_on=True))

    assert not m.saw_it_run


def test_a_newcomer_stops_only_if_no_member_is_left_that_may_take_it_in() -> None:
    """J3: d is configured as the only elector, but the view's members b and c still count."""
    first = CHAIN.tip
    assert first is not None
    tip = change(
        first,
        members=seats("bc"),
        electors=seats("abc"),
        position=None,
        activated=True,
        nonce="-",
        time=0,
    )
    m = draft(CHAIN.append(tip))
    m.observations = Observations(in_reach=frozenset("bc"))
    m.setup = evolve(m.setup, config=evolve(m.config, electors=frozenset("d")))

    hear_refused(m, "b", Refused(Reason.WRONG_STORE, "x", "y"))
    before = m.verdict
    hear_refused(m, "c", Refused(Reason.WRONG_STORE, "x", "y"))
    assert (None, True) == (before, m.verdict is not None)

    other = draft(CHAIN.append(tip), observations=Observations(in_reach=frozenset("d")))
    other.setup = evolve(m.setup, config=evolve(m.config, electors=frozenset("d")))
    hear_refused(other, "x", Refused(Reason.WRONG_STORE, "x", "y"))
    assert other.verdict is None


def test_an_elector_outside_of_the_view_may_be_a_stranger() -> None:
    """3.4: its vote is missing, whichever names are configured."""
    m = draft("F C:ab")
    m.setup = evolve(m.setup, config=evolve(m.config, electors=frozenset("ab")))

    hear_refused(m, "c", Refused(Reason.WRONG_STORE, "x", "y"))

    assert {"c"} == m.observations.strangers


def test_a_member_that_does_not_vote_may_take_in_a_newcomer() -> None:
    """J3: so the newcomer stops only when d refuses it, too; c is away."""
    first = CHAIN.tip
    assert first is not None
    tip = change(first, members=seats("bd"), position=None, activated=True, nonce="-", time=0)
    m = draft(CHAIN.append(tip), observations=Observations(in_reach=frozenset("bd")))

    hear_refused(m, "b", Refused(Reason.WRONG_STORE, "x", "y"))
    before = m.verdict
    hear_refused(m, "d", Refused(Reason.WRONG_STORE, "x", "y"))

    assert (None, True) == (before, m.verdict is not None)


@pytest.mark.parametrize("chain", ["", "F X"])
@pytest.mark.parametrize(("peer", "expected"), [("b", True), ("x", False)])
def test_only_the_store_of_an_elector_stops_a_member_that_waits(
    chain: str, peer: str, expected: bool
) -> None:
    """J3: without the vote of an elector a view may never be chosen; x is no elector."""
    m = draft(chain)

    hear_refused(m, peer, Refused(Reason.WRONG_STORE, "x", "y"))

    assert expected is (m.verdict is not None)
    assert ({peer} if expected else set()) == m.observations.strangers


@pytest.mark.parametrize(
    ("phase", "reason", "expected"),
    [
        (Phase.READY, Reason.WRONG_STORE, True),
        # A running view is not disturbed, and a restart may correct options.
        (Phase.ACTIVE, Reason.WRONG_STORE, False),
        (Phase.READY, Reason.OPTIONS_DIFFER, False),
    ],
)
def test_a_member_that_would_wait_for_strangers_for_ever_stops(
    phase: Phase, reason: Reason, expected: bool
) -> None:
    """J3: two of three electors have stores of another cluster."""
    m = draft("F C", phase=phase)
    for peer in "bc":
        hear_refused(m, peer, Refused(reason, "x", "y"))

    assert expected is (m.verdict is not None)


def test_a_hello_shows_a_member_that_its_own_disk_is_an_older_copy() -> None:
    """3.6: b has a frame of the view; so a was ready in it, but its disk does not say so."""
    first = CHAIN.id_at(1)
    tip = CHAIN.tip
    assert tip is not None
    m = draft(CHAIN, held=first, observations=Observations(in_reach=frozenset("b")))
    (b,) = seats("b")
    said = Answer(seat=b, held=tip.id, position=Position(tip.id, 4))

    hear_hello(m, 0.0, "b", evolve(hello(), status=said))

    assert m.verdict is not None
    assert Reason.STORE_WENT_BACK is m.verdict.reason
    assert ["b"] == [to for to, said in sends(m) if isinstance(said, Refused)]


@pytest.mark.parametrize(("other_tip", "expected"), [(False, True), (True, False)])
def test_was_active_is_about_the_tip_of_the_sender(other_tip: bool, expected: bool) -> None:
    """3.6: `was_active` is about the sender's tip."""
    chain, first = lineage("F:ab C:ab"), lineage("F:ab")
    (b,) = seats("b")
    m = draft(first, observations=Observations(in_reach=frozenset("b")))
    said = evolve(hello(chain if other_tip else first), status=Answer(seat=b, was_active=True))

    hear_hello(m, 0.0, "b", said)

    assert expected is (m.verdict is not None)


def test_a_member_that_ended_over_an_older_copy_is_not_a_stranger() -> None:
    """3.6: it is named while the others wait; with the right disk it is welcome."""
    m = draft(CHAIN, held=held_of(CHAIN), observations=Observations(in_reach=frozenset("bc")))

    for name in "bc":
        hear_refused(m, name, Refused(Reason.STORE_WENT_BACK, "x", "y"))

    assert (frozenset("bc"), frozenset()) == (m.observations.went_back, m.observations.strangers)
    assert m.verdict is None
