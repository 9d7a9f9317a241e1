"""Updates: the source of the data, and the requests to the host."""

from __future__ import annotations

import pytest

from joinproto.join.member import Member
from joinproto.join.messages import ServeUpdate, StartUpdate, WantUpdate, Welcome
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.steps import update_done
from joinproto.join.store import StoreRecord
from joinproto.join.updating import find_source, hear_want_update, hear_welcome
from tests.join.bus import config
from tests.join.drafts import draft, sends
from tests.join.pictures import lineage, position, seats, views

CHAIN = "F C@F.5"
TIP = views(CHAIN)["C"]


@pytest.mark.parametrize(
    ("ready", "in_reach", "source"),
    [("bc", "bc", "b"), ("bcdefghi", "bcdefghi", "b"), ("bc", "c", "c"), ("b", "c", None)],
)
def test_the_ready_member_in_reach_with_the_least_name_is_the_source(
    ready: str, in_reach: str, source: str | None
) -> None:
    """I7: the update ends at the start of the view."""
    heard = Observations(in_reach=frozenset(in_reach), ready=seats(ready))
    m = draft(CHAIN, phase=Phase.UPDATING, observations=heard)

    find_source(m)

    assert source == m.source
    asked = [] if source is None else [StartUpdate(source, TIP, TIP.position, beside=False)]
    assert asked == m.actions
    assert ([] if source is None else [(source, WantUpdate(TIP.id))]) == sends(m)


def test_a_joining_member_starts_an_update_without_a_known_end() -> None:
    """J1: the view runs, so it is unknown where the data of the source will end."""
    m = draft(CHAIN, phase=Phase.JOINING)

    hear_welcome(m, "b", Welcome(TIP.id))

    assert [StartUpdate("b", TIP, None, beside=True)] == m.actions
    assert m.saw_it_run


@pytest.mark.parametrize("chain", ["", CHAIN])
def test_a_welcome_to_another_view_is_ignored(chain: str) -> None:
    """The welcome is late, or this member has not learned the view yet."""
    m = draft(chain, phase=Phase.JOINING)

    hear_welcome(m, "b", Welcome(views("F C")["F"].id))

    assert not m.saw_it_run
    assert [] == m.actions


def test_the_position_of_an_update_frame_by_frame_is_written() -> None:
    """I7: at each moment the data ends at the position of the record."""
    record = StoreRecord(store_id="a'", lineage=lineage(CHAIN), position=position("F.3", CHAIN))
    member = Member.start(0.0, config("a"), record, seed="s")

    member.update_progress(0.0, position("F.4", CHAIN))

    assert position("F.4", CHAIN) == member.record.position


def test_a_member_that_has_all_of_an_update_is_ready_at_once() -> None:
    """I7, I8: no other event follows."""
    known = lineage(CHAIN, options=config("a").digest)
    heard = Observations(in_reach=frozenset("bc"), ready=seats("bc"))
    m = draft(known, phase=Phase.UPDATING, observations=heard, position=None)
    assert known.tip is not None

    update_done(m, 0.0, known.tip.position)

    assert known.tip.id == m.ready_in


def test_a_member_that_is_active_is_not_updated_for_a_late_welcome() -> None:
    m = draft(CHAIN, phase=Phase.ACTIVE)

    hear_welcome(m, "b", Welcome(TIP.id))

    assert [] == m.actions


@pytest.mark.parametrize(
    ("wanted", "ready_in", "feeds"), [("C", "C", True), ("F", "C", False), ("C", "F", False)]
)
def test_a_member_that_is_ready_in_a_view_serves_updates_of_that_view(
    wanted: str, ready_in: str, feeds: bool
) -> None:
    """I7: it may lack frames of another view."""
    ids = {word: view.id for word, view in views(CHAIN).items()}
    m = draft(CHAIN, ready_in=ids[ready_in])

    hear_want_update(m, "b", WantUpdate(ids[wanted]))

    assert ([ServeUpdate("b", TIP)] if feeds else []) == m.actions


def test_a_member_that_knows_no_view_serves_no_update() -> None:
    """A member of another cluster may have its address, and ask."""
    m = draft()

    hear_want_update(m, "b", WantUpdate(TIP.id))

    assert [] == m.actions
