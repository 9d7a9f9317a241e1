"""The member: three members over a bus, and a test for each sentence about their behaviour.

By default N is 2, and a, b and c are the electors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import TypeVar

import pytest
from attrs import evolve

from joinproto.errors import MisuseError
from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.config import Config
from joinproto.join.frames import FrameVerdict
from joinproto.join.ids import by_content
from joinproto.join.member import Member
from joinproto.join.messages import (
    Abort,
    Closing,
    Heartbeat,
    JoinMessage,
    Learned,
    OpenForClients,
    Ready,
    Refusal,
    Refused,
    Stop,
    Waiting,
    WantUpdate,
    Welcome,
)
from joinproto.join.phases import Phase
from joinproto.join.proposing import SILENT
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.view import Kind, Position, Seat, View, change
from joinproto.join.wire import decode
from joinproto.machine.vocabulary import Reason, Store
from tests.join import pictures
from tests.join.bus import Bus, Envelope, Host, cluster, config, start_all

OPTIONS = config("a").digest
lineage = partial(pictures.lineage, options=OPTIONS)
views = partial(pictures.views, options=OPTIONS)
Kept = TypeVar("Kept")


def all_of(kind: type[Kept], things: Iterable[object]) -> list[Kept]:
    return [thing for thing in things if isinstance(thing, kind)]


def written(bus: Bus, name: str = "a") -> Position:
    """Return a frame that the sequencer `name` has written and may acknowledge."""
    frame = bus[name].write()
    bus.settle()
    assert frame is not None
    assert bus[name].is_acknowledged(frame)
    return frame


def waits(host: Host) -> Waiting:
    """Return the member's last report of why it waits."""
    return all_of(Waiting, list(host.seen))[-1]


def abort(host: Host) -> Abort:
    (said,) = all_of(Abort, list(host.told))
    return said


def closed_cluster(names: str = "abc") -> Bus:
    """Return a cluster that has one frame and has ended by an orderly shutdown."""
    bus = cluster(names)
    written(bus)
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()
    return bus


def all_failed(mark: str = "", **options: object) -> Bus:
    """Return a cluster with one frame after a crash and a restart of all its members."""
    bus = Bus()
    start_all(bus, "abc", **options)
    bus.wait()
    written(bus)
    for name in "abc":
        bus.crash(name)
    for name in mark:
        record = bus.disks[name].record
        assert record.tip is not None
        bus.disks[name].record = evolve(record, mark=record.tip.id)
    start_all(bus, "abc", **options)
    bus.wait()
    return bus


def after_many_views(*, keep: int) -> Bus:
    """Return an active cluster whose stores keep the last `keep` views of a closed chain."""
    bus = Bus()
    for name in "abc":
        chain = lineage("F:abc C1 C2 X1", keep=keep)
        bus.start(config(name), record=StoreRecord(store_id=f"{name}'", lineage=chain))
    bus.wait()
    assert "a active, b active, c active" == bus.phases()
    return bus


# -- founding ------------------------------------------------------------------------------------


def test_one_member_alone_founds_its_own_cluster() -> None:
    bus = Bus()

    bus.start(config("a", electors="a", wait_for=1))
    bus.wait()

    assert "a active" == bus.phases()


def test_a_majority_may_found_a_cluster_if_that_is_configured() -> None:
    bus = Bus()

    start_all(bus, "ab", found_with=2)
    bus.wait()

    assert {"FOUND 1 of a b"} == bus.tips()
    assert "a active, b active" == bus.phases()


def test_n_is_an_option_that_must_match() -> None:
    bus = Bus()

    start_all(bus, "ab")
    bus.start(config("c", wait_for=3))
    bus.wait()

    assert "a aborted, b aborted, c aborted" == bus.phases()


def test_no_member_serves_before_all_members_of_the_view_are_ready() -> None:
    """I8, W1: a member is active only after all initial members are ready."""
    bus = Bus()
    opened: list[set[str]] = []
    bus.opened = lambda host, view: opened.append(
        {name for name in "abc" if bus.disks[name].record.held == view.id}
    )

    start_all(bus, "abc")
    bus.wait()

    assert [{"a", "b", "c"}] * 3 == opened


# -- frames --------------------------------------------------------------------------------------


def test_may_append_returns_whether_a_frame_is_taken() -> None:
    bus = cluster()
    frame = written(bus)
    member = bus["b"].member

    assert FrameVerdict.TAKE is member.may_append(frame.view, 2)
    assert FrameVerdict.ALREADY_THERE is member.may_append(frame.view, 1)
    assert FrameVerdict.GAP is member.may_append(frame.view, 3)
    assert FrameVerdict.OTHER_VIEW is member.may_append("another", 2)


def test_a_frozen_member_takes_no_frame() -> None:
    """A member that answers a ballot freezes, and acknowledges no frame."""
    bus = cluster()
    frame = written(bus)
    bus.say("c", "b", Prepare(frame.view, Ballot(1, "c3")))

    assert Phase.FROZEN is bus["b"].member.phase
    assert FrameVerdict.FROZEN is bus["b"].member.may_append(frame.view, 2)
    assert Closing.NEXT_VIEW is bus["b"].told[-1]


def test_a_frame_of_an_older_view_is_refused() -> None:
    bus = cluster()
    frame = written(bus)
    bus.crash("c")
    bus.wait()

    assert {"CHANGE 2 of a b"} == bus.tips()
    assert FrameVerdict.OTHER_VIEW is bus["b"].member.may_append(frame.view, 2)


def test_a_member_that_updates_takes_no_frame() -> None:
    bus = cluster()
    bus.crash("c")
    bus.wait()
    written(bus)
    bus.wipe("c")
    bus.start(config("c"))
    bus.deliver()
    bus.deliver()
    bus.deliver()

    tip = bus["a"].member.view
    assert tip is not None
    assert bus["c"].member.may_append(tip.id, 2) in (
        FrameVerdict.OTHER_VIEW,
        FrameVerdict.NOT_READY,
    )


def test_a_host_that_appends_a_forbidden_frame_gets_an_error() -> None:
    """Duty 9: ask `may_append` right before the write."""
    bus = cluster()
    frame = written(bus)

    for view, seq in ((frame.view, 3), (frame.view, 1), ("another", 2)):
        with pytest.raises(MisuseError, match="may_append"):
            bus["b"].member.appended(view, seq)

    assert frame == bus["b"].member.record.position


def test_a_record_that_waits_to_be_written_does_not_take_a_frame_back() -> None:
    """The batch is polled after the frame, so its record must have the frame's position."""
    found = views("F:ab")["F"]
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(0, config("a", electors="ab"), record, seed="s")
    member.receive(0, "b", Ready(found.id, Seat("b", "b'")))

    assert FrameVerdict.TAKE is member.may_append(found.id, 1)
    member.appended(found.id, 1)

    written_next = member.poll().persist
    assert written_next is not None
    assert Position(found.id, 1) == written_next.position


# -- crashes, joining, leaving -------------------------------------------------------------------


def test_a_member_that_returns_before_it_is_missed_continues_through_a_new_view() -> None:
    bus = cluster()
    frame = written(bus)

    bus.crash("c")
    bus.start(config("c"))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert {"CHANGE"} == {tip.split()[0] for tip in bus.tips()}
    assert frame == bus.disks["c"].frames[-1]


def test_a_wiped_member_joins_as_a_new_one() -> None:
    """J1: an empty store is updated, and then taken in."""
    bus = cluster()
    frame = written(bus)
    bus.crash("c")
    bus.wipe("c")
    bus.wait()

    bus.start(config("c"))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert (frame,) == bus.disks["c"].frames
    assert Seat("c", "c4") in bus.disks["a"].record.lineage.views[-1].electors


def changed() -> tuple[Bus, Position]:
    """Return a cluster of a and b in their second view, with one frame of each view."""
    bus = cluster()
    written(bus)
    bus.crash("c")
    bus.wait()
    return bus, written(bus)


def test_two_newcomers_at_once_both_join() -> None:
    bus = cluster()
    written(bus)

    start_all(bus, "de")
    bus.wait()

    assert "a active, b active, c active, d active, e active" == bus.phases()
    assert 1 == len(bus.tips())
    assert 2 == written(bus).seq


def test_members_whose_messages_were_lost_say_hello_again_at_a_heartbeat() -> None:
    """The FOUND is chosen, but no member hears that others are ready."""
    bus = Bus()
    start_all(bus, "abc")
    while not all(bus[name].member.ready_in for name in "abc"):
        if not bus.wire:
            due = bus.next_deadline()
            assert due is not None
            bus.now = due
            bus.tick()
        elif isinstance(decode(bus.wire[0].content), Ready):  # type: ignore[arg-type]
            bus.wire.popleft()
        else:
            bus.deliver()
    bus.wire.clear()

    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_newcomer_whose_messages_were_lost_says_hello_again_at_a_heartbeat() -> None:
    """Its hello was lost, or came while no member was active."""
    bus, _ = changed()
    bus.start(config("d"))
    while bus["d"].member.phase is not Phase.JOINING:
        bus.step()
    bus.wire.clear()

    bus.wait()

    assert "a active, b active, c down, d active" == bus.phases()


def test_a_member_that_is_not_in_the_view_may_leave() -> None:
    bus, _ = changed()
    bus.start(config("d"))
    while bus["d"].member.phase is not Phase.JOINING:
        bus.step()
    bus.tell("d", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a active, b active, c down, d stopped" == bus.phases()


def test_a_store_of_a_branch_is_refused() -> None:
    """The store's chain has another successor of one view, as after a forced recovery."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    root, mine = bus.disks["a"].record.lineage.views
    branch = bus.disks["c"].record.lineage.append(_another(mine, root))

    bus.start(config("c"), record=evolve(bus.disks["c"].record, lineage=branch))
    bus.wait()

    assert "a active, b active, c aborted" == bus.phases()
    assert Reason.WRONG_STORE is abort(bus["c"]).reason


def test_a_store_ahead_on_a_branch_stops_and_names_its_own_view() -> None:
    """Section 2: after a forced recovery its chain is longer; the store is not overwritten."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    root, mine = bus.disks["a"].record.lineage.views
    other = _another(mine, root)
    forced = bus.disks["c"].record.lineage.append(other).append(_another(other, other))
    assert forced.length > bus["a"].member.record.lineage.length

    bus.start(config("c"), record=evolve(bus.disks["c"].record, lineage=forced))
    bus.wait()

    assert "a active, b active, c aborted" == bus.phases()
    said = abort(bus["c"])
    assert Reason.WRONG_STORE is said.reason
    assert "view 2 is" in said.expected
    assert forced == bus.disks["c"].record.lineage


def test_a_ready_member_stops_if_the_others_have_foreign_stores() -> None:
    """It is ready in its own view, and would wait for ever for members of that view."""
    bus = cluster("ab", electors="ab")
    record = StoreRecord(store_id="c'", lineage=lineage("F9:abc"))

    bus.start(config("c"), record=record)
    bus.wait()

    assert "a active, b active, c aborted" == bus.phases()
    assert Reason.WRONG_STORE is abort(bus["c"]).reason


def test_one_foreign_store_does_not_stop_a_member_that_waits_for_its_own() -> None:
    record = StoreRecord(store_id="c'", lineage=lineage("F9:abc"))
    member = Member.start(0, config("c"), record, seed="s", in_reach=frozenset("ab"))
    phases = [member.phase]

    for peer in "ab":
        member.receive(0, peer, Refused(Reason.WRONG_STORE, "x", "y"))
        phases.append(member.phase)

    assert [Phase.READY, Phase.READY, Phase.ABORTED] == phases


def test_an_empty_store_joins_a_cluster_that_has_forgotten_its_founding() -> None:
    bus = after_many_views(keep=2)
    old = bus["a"].member.record.lineage
    assert 2 <= old.forgotten

    bus.start(config("d"))
    bus.wait()

    assert "a active, b active, c active, d active" == bus.phases()
    assert bus["a"].member.record.lineage == bus["d"].member.record.lineage
    assert old.initial == bus.disks["d"].record.lineage.initial


def test_a_store_that_knows_only_the_founding_joins_as_well() -> None:
    bus = after_many_views(keep=2)

    bus.start(config("d"), record=StoreRecord(store_id="d'", lineage=lineage("F:abc")))
    bus.wait()

    assert "a active, b active, c active, d active" == bus.phases()


def test_a_store_whose_tip_is_forgotten_is_refused() -> None:
    """It is unknown whether the cluster's chain continues its chain."""
    bus = after_many_views(keep=1)

    bus.start(config("d"), record=StoreRecord(store_id="d'", lineage=lineage("F:abc C1")))
    bus.wait()

    assert "a active, b active, c active, d aborted" == bus.phases()
    assert "view 2 is" in abort(bus["d"]).found


def test_members_that_only_wait_follow_a_newer_store() -> None:
    """A store is newer if its tip descends from their tip."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    for name in "ab":
        bus.crash(name)

    start_all(bus, "cab")
    bus.wait()

    assert {"CHANGE 2 of a b"} == bus.tips()


def test_a_member_that_left_may_come_back() -> None:
    bus = cluster()
    bus.tell("c", lambda member: member.leave(bus.now))
    bus.wait()
    written(bus)

    bus.start(config("c"))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert bus.disks["a"].frames == bus.disks["c"].frames


# -- orderly shutdown ----------------------------------------------------------------------------


def test_a_closed_cluster_restarts_with_n_members_and_the_last_member_joins() -> None:
    bus = closed_cluster()

    start_all(bus, "bc")
    bus.wait()
    assert "a stopped, b active, c active" == bus.phases()
    written(bus, "b")
    bus.start(config("a"))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert bus.disks["b"].frames == bus.disks["a"].frames


def test_after_a_close_members_without_a_clean_store_wait() -> None:
    """I6: they report that no store is clean; a clean store may come soon."""
    bus = closed_cluster()
    closed = bus.disks["a"].record
    for name in "abc":
        record = bus.disks[name].record
        bus.disks[name].record = evolve(record, update_unfinished=True)
    assert closed.state is Store.CLEAN

    start_all(bus, "abc")
    bus.wait()

    assert set() == {host.serves for host in bus.hosts.values()} - {None}
    assert any(
        Reason.NO_CLEAN_STORE is event.reason
        for host in bus.hosts.values()
        for event in all_of(Waiting, list(host.seen))
    )


def test_a_restart_may_change_the_options_of_all() -> None:
    bus = closed_cluster()

    start_all(bus, "abc", options="new", wait_for=3)
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_shutdown_while_a_member_is_away_closes_the_others() -> None:
    bus = cluster()
    written(bus)
    bus.crash("c")
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()

    assert "a stopped, b stopped, c down" == bus.phases()
    assert [Store.CLEAN, Store.CLEAN] == [bus.disks[name].record.state for name in "ab"]


# -- total failure -------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["a", "b", "c"])
def test_after_total_failure_one_mark_permits_the_restart(mark: str) -> None:
    """R3: the mark permits the restart, but does not choose whose data is taken."""
    bus = all_failed(mark)

    assert "a active, b active, c active" == bus.phases()
    assert {"RESTART"} == {tip.split()[0] for tip in bus.tips()}
    assert [1, 1, 1] == [len(disk.frames) for disk in bus.disks.values()]


def test_after_total_failure_a_committed_frame_survives_whichever_store_is_marked() -> None:
    """The marked store crashed early, before the others wrote more."""
    bus = cluster()
    written(bus)
    bus.crash("c")
    bus.wait()
    frame = written(bus)
    for name in "ab":
        bus.crash(name)
    record = bus.disks["a"].record
    assert record.tip is not None
    bus.disks["a"].record = evolve(record, mark=record.tip.id)

    start_all(bus, "cab")
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert all(frame in disk.frames for disk in bus.disks.values())


# -- hearing no member -----------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["ab", "bc", "ac"])
def test_with_one_of_three_links_cut_two_members_serve_and_one_waits(lost: str) -> None:
    """The views do not alternate: a member that cannot hear another member is not taken in."""
    bus = cluster()
    written(bus)
    (hears_both,) = set("abc") - set(lost)

    bus.partition(hears_both + lost[0], hears_both + lost[1])
    bus.wait(50)

    (tip,) = {str(bus[name].member.view).split(" (")[0] for name in "abc"}
    assert tip.startswith("CHANGE 2 of ")
    phases = [bus[name].member.phase for name in "abc"]
    assert [Phase.ACTIVE, Phase.ACTIVE, Phase.JOINING] == sorted(phases, key=lambda one: one.value)
    assert Phase.ACTIVE is bus[hears_both].member.phase

    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_newcomer_that_does_not_hear_a_dead_member_is_taken_in() -> None:
    bus = cluster()
    bus.partition("a", "bc")
    bus.wait()
    bus.crash("c")
    bus.partition()
    bus.wait()

    assert "a active, b active, c down" == bus.phases()


def test_the_next_view_does_not_wait_for_a_member_that_is_known_to_be_gone() -> None:
    """It waits one patience for the return of the member, not a second one for its answer."""
    bus = cluster(heartbeat=0.0)
    bus.crash("a")
    began = bus.now
    deadline = bus.next_deadline()
    assert deadline is not None

    bus.wait(deadline - began)

    assert {"CHANGE 2 of b c"} == bus.tips()


def test_members_that_hear_no_member_serve_no_client_until_they_hear_each_other() -> None:
    """P4: a member that is alive continues as soon as a majority can talk."""
    bus = cluster()
    written(bus)
    bus.partition("a", "b", "c")
    bus.wait()
    assert set() == {host.serves for host in bus.hosts.values()} - {None}

    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert 2 == written(bus).seq


def test_a_heartbeat_of_a_frozen_majority_suspends() -> None:
    """Electors that have answered a ballot no longer count for a member's majority."""
    bus = cluster()
    tip = bus["a"].member.view
    assert tip is not None

    for seat in sorted(tip.members - {bus["a"].member.seat}, key=str):
        bus.hosts["a"].member.receive(bus.now, seat.member, Heartbeat(tip.id, 1, seat, True))
    bus.hosts["a"].perform()

    assert Phase.SUSPENDED is bus["a"].member.phase
    assert bus["a"].serves is None


def test_a_heartbeat_tells_a_member_that_it_has_missed_a_view() -> None:
    """The message with the chosen view was lost; the heartbeat shows that, and is answered."""
    bus = cluster()
    bus.cut = {frozenset("ac"), frozenset("bc")}
    bus.tell("a", lambda member: member.peer_down(bus.now, "c"))
    bus.tell("b", lambda member: member.peer_down(bus.now, "c"))
    bus.wait(20)
    assert {"CHANGE 2 of a b", "FOUND 1 of a b c"} == bus.tips()

    bus.cut = set()
    bus.wait(20)

    assert any(isinstance(event, Learned) for event in bus["c"].seen)
    assert 1 == len(bus.tips())


def test_without_heartbeats_an_active_member_has_no_deadline() -> None:
    bus = cluster(heartbeat=0)

    assert [None] * 3 == [bus[name].member.deadline for name in "abc"]


# -- unlucky and faulty members ------------------------------------------------------------------


def test_the_others_do_not_wait_for_frames_that_only_a_leaver_has() -> None:
    bus = cluster()
    written(bus)
    bus.cut = {frozenset("ab"), frozenset("ac")}
    assert bus["a"].write() is not None
    bus.wire.clear()
    bus.cut = set()

    bus.tell("a", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a stopped, b active, c active" == bus.phases()
    assert 1 == len(bus.disks["b"].frames)


@pytest.mark.parametrize("leavers", ["abc", "a"])
def test_a_leave_that_would_leave_no_store_is_refused_with_an_event(leavers: str) -> None:
    """3.3: a ballot ends in a view, with the same members if necessary."""
    bus = cluster() if leavers == "abc" else cluster("a", electors="a", wait_for=1)

    for name in leavers:
        bus.tell(name, lambda member: member.leave(bus.now))
    bus.wait()

    assert {"active"} == {host.member.phase.value for host in bus.hosts.values()}
    said = [event.what for name in leavers for event in all_of(Refusal, bus[name].seen)]
    assert len(leavers) == len([what for what in said if "may not leave" in what])


def test_a_member_that_joins_cannot_stop_the_cluster_by_an_old_request() -> None:
    bus = cluster()
    written(bus)
    bus.start(config("d"))
    while bus["d"].member.phase is not Phase.JOINING:
        bus.step()

    bus.tell("d", lambda member: member.shutdown_cluster(bus.now))
    bus.wait(30)

    assert "a active, b active, c active, d stopped" == bus.phases()


def test_a_member_that_was_cut_off_does_not_stop_the_others() -> None:
    bus = cluster()
    bus.partition("a", "bc")
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()
    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_one_of_two_empty_copies_of_a_disk_joins() -> None:
    bus = cluster()

    for name in "de":
        bus.start(config(name), record=StoreRecord(store_id="image"))
    bus.wait()

    assert "a active, b active, c active, d active, e aborted" == bus.phases()


def test_a_member_that_is_back_with_another_store_is_given_up_at_once() -> None:
    """Its name is in reach, but not its seat."""
    bus = Bus()
    start_all(bus, "abc", wait_for=3)
    while not all(bus[name].member.view for name in "abc"):
        bus.step()
    assert Phase.ACTIVE is not bus["a"].member.phase
    bus.crash("c")
    bus.wire.clear()
    bus.wipe("c")
    bus.start(config("c", wait_for=3))
    bus.wait(60)

    assert "a active, b active, c active" == bus.phases()


def test_a_member_of_another_cluster_does_not_stop_a_returning_member() -> None:
    """P1: the stray is no elector."""
    bus = cluster()
    bus.crash("a")
    bus.start(config("a"))
    assert Phase.INITIALIZING is bus["a"].member.phase

    bus.start(config("d"), record=StoreRecord(store_id="d'", lineage=lineage("F9:de")))
    bus.wait()

    assert "a active, b active, c active, d aborted" == bus.phases()


def test_one_foreign_member_does_not_stop_a_newcomer() -> None:
    """J2: the other members would take the newcomer in."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    bus.start(config("c"), record=StoreRecord(store_id="c'", lineage=lineage("F9:de")))
    bus.start(config("d"))
    bus.wait()

    assert "a active, b active, c aborted, d active" == bus.phases()


def test_a_source_that_is_lost_is_not_chosen_again() -> None:
    """c is in the view, but lacks data; a and b are ready and would feed it."""
    chain = lineage("F:abc C1:abc@F.2")
    tip = chain.tip
    assert tip is not None
    record = StoreRecord(store_id="c'", lineage=chain, held=chain.initial)
    member = Member.start(0, config("c"), record, seed="s", in_reach=frozenset("ab"))
    for name in "ab":
        member.receive(0, name, Ready(tip.id, Seat(name, f"{name}'")))
    sources = [member.source]

    for name in "ab":
        member.peer_down(0, name)
        sources.append(member.source)

    assert ["a", "b", None] == sources


def test_an_update_may_not_move_the_data_of_a_frozen_member() -> None:
    """3.3: its data must not change, because its answer says where the data ends."""
    bus = cluster()
    member = bus["a"].member
    tip = member.view
    assert tip is not None
    member.receive(bus.now, "b", Prepare(tip.id, Ballot(1, "b2")))
    assert member.is_frozen

    with pytest.raises(MisuseError, match="next view is chosen"):
        member.update_done(bus.now, None)


def test_a_member_with_other_options_than_the_view_is_not_ready() -> None:
    """I2: it answered with the same options, and was restarted with others before it was ready."""
    record = StoreRecord(store_id="b'", lineage=lineage("F:ab"))
    one = config("b", electors="ab", options="others")
    member = Member.start(0, one, record, seed="s", in_reach=frozenset("a"))
    tip = member.view
    assert tip is not None

    member.receive(0, "a", Ready(tip.id, Seat("a", "a'")))

    assert Phase.INITIALIZING is member.phase
    assert member.record.held is None
    member.tick(10)
    assert member.is_frozen


def test_a_ballot_that_takes_longer_than_patience_still_ends() -> None:
    """Patience grows with each ballot; otherwise each ballot could void the one before."""
    bus = Bus()
    start_all(bus, "abc")
    late: deque[tuple[float, Envelope]] = deque()
    for _ in range(1_200):
        bus.now += 0.1
        while bus.wire:
            late.append((bus.now + 3, bus.wire.popleft()))
        while late and late[0][0] <= bus.now:
            bus.wire.appendleft(late.popleft()[1])
            bus.deliver()
        bus.tick()

    assert "a active, b active, c active" == bus.phases()


def test_patience_begins_again_with_a_new_connection() -> None:
    """After a long time alone, a member must not wait long when another member comes back.

    With heartbeats it never waits long: it repeats the questions of its ballot.
    """
    bus = closed_cluster()
    bus.start(config("a", heartbeat=0))
    bus.wait(300)
    member = bus["a"].member
    assert member.state.patience_until is not None
    assert member.state.patience_until > bus.now + 2 * member.config.patience

    member.peer_up(bus.now, "b")

    assert member.state.patience_until <= bus.now + member.config.patience


def test_a_member_without_answers_names_the_silent_members() -> None:
    """A member that cannot go on names a reason on which an operator can act."""
    bus = closed_cluster()
    bus.start(config("a"))
    bus.wait()

    assert SILENT == waits(bus["a"]).case
    assert "no answer from b, c" == waits(bus["a"]).detail


def test_an_old_answer_of_the_register_does_not_let_a_member_serve() -> None:
    """An answer counts from the time of its question, and expires by itself."""
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(
        0, config("a", electors="ab", outside=True), record, seed="s", in_reach=frozenset("b")
    )
    tip = member.view
    assert tip is not None
    member.receive(0, "b", Ready(tip.id, Seat("b", "b'")))
    member.tick(60)
    phases = [member.phase]

    member.register_free(60.1, tip.id, 0.5)
    phases.append(member.phase)
    member.register_free(60.2, tip.id, 60)
    phases.append(member.phase)
    member.receive(100, "b", Ready(tip.id, Seat("b", "b'")))
    phases.append(member.phase)

    assert [Phase.SUSPENDED, Phase.SUSPENDED, Phase.ACTIVE, Phase.SUSPENDED] == phases


# -- refusals -----------------------------------------------------------------------------------

OTHER = views("F9:de")["F9"]
ELSEWHERE = Seat("b", "b'")


@pytest.mark.parametrize(
    "message",
    [
        Chosen(None, (OTHER,)),
        Chosen(None, (views("F9:de C1")["C1"],)),
        Ready("nowhere", ELSEWHERE),
        Welcome("nowhere"),
        WantUpdate("nowhere"),
        Voted("nowhere", Ballot(1, "b'"), ELSEWHERE),
        Promise(None, Ballot(1, "a1"), Seat("c", "c'"), None),
        Accept(None, Ballot(9, "b'"), OTHER),
        Refused(Reason.WRONG_STORE, "x", "y"),
        Heartbeat(None, 0, Seat("e", "e'"), True),
        Heartbeat("nowhere", 9, Seat("e", "e'"), False),
    ],
    ids=lambda message: str(message),
)
def test_a_report_of_a_process_outside_of_the_view_changes_nothing(message: JoinMessage) -> None:
    bus = cluster()
    before = {name: (disk.record, disk.frames) for name, disk in bus.disks.items()}

    bus.say("b", "a", message)
    bus.wait(5)

    assert before == {name: (disk.record, disk.frames) for name, disk in bus.disks.items()}
    assert "a active, b active, c active" == bus.phases()


def test_a_second_successor_is_refused_with_an_event() -> None:
    bus = cluster()
    first = bus["a"].member.view
    bus.crash("c")
    bus.wait()
    there = bus["a"].member.view
    assert first is not None
    assert there is not None

    bus.say("b", "a", Chosen(first.id, (_another(there, first),)))

    assert there == bus["a"].member.view
    refused = all_of(Refusal, list(bus["a"].seen))
    assert "of this chain" in refused[-1].what


def test_an_answer_in_the_name_of_another_member_is_refused() -> None:
    """Duty 16: the connection shows which member it is."""
    bus = cluster()
    tip = bus["a"].member.view
    assert tip is not None
    bus.hosts["a"].member.leave(bus.now)
    bus.cut = {frozenset(pair) for pair in ("ab", "ac", "bc")}
    bus.tick()
    ballot = bus["a"].member.record.promised
    assert ballot is not None

    bus.cut = set()
    bus.wire.clear()
    forged = Promise(tip.id, ballot, Seat("c", "c3"), None, bus["c"].member.status)
    bus["a"].member.receive(bus.now, "b", forged)

    assert isinstance(bus["a"].member.poll().events[-1], Refusal)
    assert frozenset() == bus["a"].member.state.observations.answers


def test_a_member_that_has_ended_ignores_messages() -> None:
    bus = closed_cluster()
    member = bus["a"].member

    member.receive(bus.now, "b", Welcome("x"))
    member.tick(bus.now)
    member.peer_up(bus.now, "d")
    member.peer_down(bus.now, "b")

    assert not member.poll()
    assert Phase.STOPPED is member.phase


# -- the loop ------------------------------------------------------------------------------------


def test_a_batch_is_the_same_until_it_is_performed() -> None:
    member = Member.start(
        0, config("a", electors="a", wait_for=1), StoreRecord(store_id="a'"), seed="s"
    )
    member.tick(100)
    batch = member.poll()

    assert batch == member.poll()
    member.advance(batch)
    assert not member.poll()


def test_an_event_between_poll_and_advance_stays() -> None:
    bus = cluster()
    member = bus["a"].member
    tip = member.view
    assert tip is not None
    member.tick(bus.now + 0.5)
    polled = member.poll()
    assert polled.persist is None
    member.receive(bus.now, "b", Prepare(tip.id, Ballot(1, "b2")))

    member.advance(polled)

    left = member.poll()
    assert left.persist is not None
    assert Ballot(1, "b2") == left.persist.promised
    assert Closing.NEXT_VIEW is left.close
    assert any(isinstance(sent.message, Promise) for sent in left.sends)


def test_a_promise_and_its_record_are_in_one_batch() -> None:
    """Duty 1: persist before sending; so the record must come with the message."""
    bus = cluster()
    member = bus["a"].member
    tip = member.view
    assert tip is not None

    member.receive(bus.now, "b", Prepare(tip.id, Ballot(1, "b2")))

    batch = member.poll()
    assert batch.persist is not None
    assert any(isinstance(sent.message, Promise) for sent in batch.sends)


def test_the_same_member_founds_other_views_with_another_seed() -> None:
    """Duty 8: two clones of one disk never make the same view."""
    ids = set()
    for seed in ("one", "two"):
        record = StoreRecord(store_id="a'")
        member = Member.start(0, config("a", electors="a", wait_for=1), record, seed=seed)
        member.tick(100)
        assert member.view is not None
        assert Kind.FOUND is member.view.kind
        ids.add(member.view.id)

    assert 2 == len(ids)


# -- an outside register, transient members ------------------------------------------------------


def test_with_an_outside_register_n_may_have_any_value() -> None:
    bus = cluster(outside=True, wait_for=1)
    written(bus)
    bus.partition("a", "bc")
    bus.wait()
    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert 1 == len(bus.tips())


def test_an_answer_of_the_register_about_another_view_changes_nothing() -> None:
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(0, config("a", electors="ab", outside=True), record, seed="s")
    member.receive(0, "b", Ready(views("F:ab")["F"].id, Seat("b", "b'")))
    member.tick(0.5)
    phases = [member.phase]
    assert member.view is not None

    for view in ("elsewhere", member.view.id):
        member.register_free(0.6, view, 0.5)
        phases.append(member.phase)

    assert [Phase.SUSPENDED, Phase.SUSPENDED, Phase.ACTIVE] == phases


def test_a_transient_member_keeps_nothing_and_returns_with_another_store() -> None:
    bus = cluster()
    frame = written(bus)
    bus.start(config("d", is_transient=True))
    bus.wait()
    assert "a active, b active, c active, d active" == bus.phases()
    bus.crash("d")
    bus.start(config("d", is_transient=True))
    bus.wait()

    assert "a active, b active, c active, d active" == bus.phases()
    assert (frame,) == bus.disks["d"].frames
    assert not {seat for seat in bus["a"].member.view.electors if seat.member == "d"}  # type: ignore[union-attr]


# -- config --------------------------------------------------------------------------------------


def test_a_record_and_a_configuration_that_disagree_are_refused() -> None:
    with pytest.raises(MisuseError, match="transient"):
        Member.start(
            0,
            Config(member="d", electors=frozenset("abc"), wait_for=2, is_transient=True),
            StoreRecord(store_id="d'"),
            seed="s",
        )


def test_ids_by_content_are_for_searched_worlds_only() -> None:
    """By default ids are made by hash."""
    member = Member.start(
        0, config("a", electors="a", wait_for=1), StoreRecord(store_id="a'"), seed="s"
    )
    named = Member.start(
        0,
        config("a", electors="a", wait_for=1),
        StoreRecord(store_id="a'"),
        seed="s",
        digest=by_content,
    )
    for one in (member, named):
        one.tick(100)

    assert isinstance(member.record.lineage.initial, str)
    assert not isinstance(named.record.lineage.initial, str)


def _another(view: View, parent: View) -> View:
    """Return another successor of `parent`, which differs from `view` only in its nonce."""
    return change(
        parent,
        members=view.members,
        electors=view.electors,
        position=view.position,
        activated=view.activated,
        nonce="another",
        time=view.time,
    )


def test_a_member_that_froze_before_its_batch_was_polled_is_not_opened() -> None:
    """Several calls may come before a poll; the opening of a member that then froze is dropped."""
    found = views("F:ab")["F"]
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(0, config("a", electors="ab"), record, seed="s", in_reach=frozenset("b"))
    member.receive(0, "b", Ready(found.id, Seat("b", "b'")))
    assert Phase.ACTIVE is member.phase

    member.receive(0, "b", Prepare(found.id, Ballot(1, "b'")))

    batch = member.poll()
    assert Closing.NEXT_VIEW is batch.close
    assert [] == all_of(OpenForClients, list(batch.actions))


def test_a_closing_while_a_batch_is_performed_is_in_the_next_one() -> None:
    found = views("F:ab")["F"]
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(0, config("a", electors="ab"), record, seed="s", in_reach=frozenset("b"))
    member.receive(0, "b", Ready(found.id, Seat("b", "b'")))
    opening = member.poll()
    assert all_of(OpenForClients, list(opening.actions))

    member.receive(0, "b", Prepare(found.id, Ballot(1, "b'")))
    assert member.poll() is opening
    member.advance(opening)

    assert Closing.NEXT_VIEW is member.poll().close


def test_a_batch_cannot_be_advanced_twice() -> None:
    record = StoreRecord(store_id="a'", lineage=lineage("F:ab"))
    member = Member.start(0, config("a", electors="ab"), record, seed="s", in_reach=frozenset("b"))
    batch = member.poll()
    assert batch
    member.advance(batch)

    with pytest.raises(MisuseError, match="did not give"):
        member.advance(batch)


def test_a_member_in_no_view_leaves_at_once() -> None:
    """No other member could leave it out of a view."""
    record = StoreRecord(store_id="a'")
    member = Member.start(0, config("a"), record, seed="s")

    member.leave(0)

    assert Phase.STOPPED is member.phase
    assert [Stop(False)] == all_of(Stop, list(member.poll().actions))


def test_the_missed_members_of_an_answer_count_only_in_its_ballot() -> None:
    """Links come and go between ballots (swarm, seed 200061)."""
    bus = cluster()
    member, tip = bus["a"].member, bus["a"].member.view
    assert tip is not None
    member.leave(bus.now)
    member.tick(bus.now)
    attempt = member.state.choice.attempt
    assert attempt is not None
    answer = bus["b"].member.status
    told = Promise(tip.id, attempt.ballot, answer.seat, None, answer, frozenset("c"))

    member.receive(bus.now, "b", told)
    before = member.state.observations.apart.pairs
    member.receive(bus.now, "c", Nack(tip.id, attempt.ballot, Ballot(9, "c'")))
    member.tick(bus.now + 100)

    assert {("b", "c")} == before
    assert set() == member.state.observations.apart.pairs
    assert answer in member.state.observations.answers
