"""Decisions from the others' reports, and the actions of the built-in manager.

Source: hot standby, H2, H3, H8, H10.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.standby.broker import Role
from joinproto.standby.events import Demote, Gone, Promote, Superseded
from joinproto.standby.machine import Broker
from joinproto.standby.managing import (
    Due,
    Managing,
    Now,
    appended,
    decided,
    promotion,
    ticked,
    would,
)
from joinproto.standby.messages import View
from joinproto.standby.peers import (
    PeerReport,
    PeerReports,
    cluster_of,
    learned,
    met,
    parted,
    to_follow,
)
from tests.standby.pair import Cluster, pair

FIRST = View(generation=1, number=1, primary="a", members=("a", "b"))
SECOND = View(generation=2, number=1, primary="c", members=("b", "c"))
SERVES = PeerReport(role=Role.PRIMARY, view=FIRST)


def around(**others: PeerReport | None) -> PeerReports:
    return PeerReports(others=others, cluster="x")


def backup() -> Broker:
    """Return `b`, which follows `a` in generation 1."""
    return pair().brokers["b"]


def waiting(name: str) -> Broker:
    """Return a broker that has started with the first view, and follows no other."""
    made = Cluster.of(name)
    made.change(name, view=FIRST)
    return made.brokers[name]


def test_a_backup_follows_the_youngest_primary_that_it_has_not_left() -> None:
    """H2: it follows no primary of an older generation than it knows."""
    free = Cluster.of("b").brokers["b"]
    there = around(a=SERVES, c=PeerReport(role=Role.RECOVERING, view=SECOND))

    assert "c" == to_follow(free, there)
    assert "a" == to_follow(free, evolve(there, left=frozenset({"c"})))
    assert "a" == to_follow(free, parted(there, "c"))
    strangers = met(there, "c", PeerReport(role=Role.PRIMARY, view=SECOND, cluster="y"))
    assert "a" == to_follow(free, strangers)
    late = pair()
    late.cut("a", "b")
    late.promote("b")
    late.do("b", Demote())
    assert 2 == late.brokers["b"].view.generation
    assert to_follow(late.brokers["b"], around(a=SERVES)) is None


def test_a_primary_that_was_left_is_followed_again_once_its_report_changes() -> None:
    left = evolve(around(a=SERVES), left=frozenset({"a"}))

    assert {"a"} == met(left, "a", SERVES).left
    assert not met(left, "a", evolve(SERVES, view=evolve(FIRST, number=2))).left
    assert not met(left, "a").left


def test_a_backup_leaves_its_primary_for_a_younger_one() -> None:
    """H2: its old primary may not know yet that its generation is over."""
    me = backup()
    there = around(a=SERVES, c=evolve(SERVES, view=SECOND))

    assert Gone("a") == learned(me, there, "c").event
    assert learned(me, there, "a").event is None
    assert learned(me, around(a=SERVES, c=PeerReport(view=SECOND)), "c").event is None
    assert Gone("a") == learned(me, around(a=PeerReport(view=FIRST)), "a").event


def test_the_older_of_two_primaries_stops_serving() -> None:
    """H2: only a person can choose between two primaries of one generation."""
    me = pair().brokers["a"]
    rival = evolve(SERVES, view=evolve(FIRST, primary="c"))

    assert Superseded(SECOND) == learned(me, around(c=evolve(SERVES, view=SECOND)), "c").event
    found = learned(me, around(c=rival), "c")
    assert (None, True) == (found.event, found.is_rival)
    assert "c is also primary in generation 1" in found.problem
    assert not learned(me, around(c=evolve(SERVES, view=View())), "c").problem
    assert "another cluster: y" in learned(me, around(c=evolve(rival, cluster="y")), "c").problem


def test_a_store_belongs_to_the_cluster_of_the_broker_that_it_follows() -> None:
    me, new = backup(), evolve(around(a=evolve(SERVES, cluster="x")), cluster=None)

    assert "kept" == cluster_of(me, evolve(new, cluster="kept"), FIRST, "a", drawn="d")
    assert "x" == cluster_of(me, new, FIRST, None, drawn="d")
    assert "d" == cluster_of(me, new, evolve(FIRST, primary="b"), "a", drawn="d")
    assert cluster_of(me, around(), FIRST, "a", drawn="d") == "x"


def now(at: float, **more: object) -> Now:
    fields = {"is_open": True, "there": frozenset("abc"), "silence": 3.0, **more}
    return Now(at=at, **fields)  # type: ignore[arg-type]


def test_a_member_of_the_last_view_asks_when_its_turn_has_come() -> None:
    """H3: the first asks half a second after it saw that no broker serves, the others later."""
    me = waiting("b")
    state, there = Managing(chain=FIRST), around(a=None, c=None)

    state, due = ticked(state, me, there, Promote(), now(10.0, there=frozenset("bc")))
    assert Due.NOTHING is due
    state, due = ticked(state, me, there, Promote(), now(10.5, there=frozenset("bc")))
    assert Due.ASK is due
    # The former primary takes part in the chain, and only this broker does not hear it.
    state, due = ticked(state, me, there, Promote(), now(11.0))
    assert Due.NOTHING is due
    _, due = ticked(state, me, there, Promote(), now(17.1))
    assert Due.ASK is due
    _, due = ticked(state, me, around(a=SERVES, c=None), Promote(), now(30.0))
    assert Due.NOTHING is due


def test_a_primary_without_a_majority_stops_serving_after_the_silence() -> None:
    me, state = pair().brokers["a"], Managing(chain=FIRST)

    for at, due in [(0.0, Due.NOTHING), (3.0, Due.NOTHING), (3.1, Due.TURN)]:
        state, found = ticked(state, me, around(), Promote(), now(at, is_open=False))

        assert due is found, at


@pytest.mark.parametrize(
    ("chain", "due"),
    [
        (FIRST, Due.PROMOTED),
        (evolve(FIRST, number=2, members=("a",)), Due.CAME_LATE),
        (SECOND, Due.CAME_LATE),
    ],
)
def test_a_promotion_counts_only_if_it_directly_follows_the_last_view(
    chain: View, due: Due
) -> None:
    asked = View(generation=2, number=1, primary="b", members=("b",))

    state, fits = appended(Managing(chain=chain, asked=asked), asked)
    state, found = decided(state, asked, fits=fits)

    assert due is found
    assert state.asked is None


def test_a_dropped_backup_does_not_stop_the_promotion_of_a_member() -> None:
    """H3, H10: the backup runs on and lacks later messages; a member's store was marked clean.

    Otherwise that member would be refused because the dropped backup "has more", although by the
    chain no other broker may be promoted.
    """
    me = waiting("a")
    state = Managing(chain=View(generation=2, number=1, primary="a", members=("a",)))
    there = around(b=PeerReport(standing=Role.BACKUP, view=FIRST))

    event = promotion(state, me, there, continues=False)

    assert would(state, me, event, is_open=True).is_accepted
    # A member of the last view still counts.
    both = evolve(state, chain=evolve(state.chain, members=("a", "b")))
    refused = would(both, me, promotion(both, me, there, continues=False), is_open=True)
    assert "H3" == refused.rule
