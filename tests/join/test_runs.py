"""Runs of whole clusters that would lose data, or stop for ever, without a rule.

These runs are too long for the bounded search of a world.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.join.choice_messages import Accept, Prepare, Promise, Voted
from joinproto.join.config import TotalFailure
from joinproto.join.messages import Refusal, Waiting
from joinproto.join.phases import Phase
from joinproto.join.wire import decode
from joinproto.machine.vocabulary import Reason
from tests.join.bus import Bus, Data, Envelope, cluster, config, start_all


def _write_without(bus: Bus, name: str) -> None:
    """Write a frame at `a` that does not reach this member."""
    bus.write("a")
    for envelope in [one for one in bus.wire if one.to == name]:
        bus.wire.remove(envelope)
    bus.settle()


def _slowly(bus: Bus, seconds: float) -> None:
    """Advance the time while updates are held back; afterwards they are under way again."""
    until = bus.now + seconds
    held: list[Envelope] = []
    while bus.wire or ((due := bus.next_deadline()) is not None and due <= until):
        late = [one for one in bus.wire if isinstance(one.content, Data)]
        held += late
        for envelope in late:
            bus.wire.remove(envelope)
        bus.step()
    bus.wire.extend(held)


# -- updates ---------------------------------------------------------------------------------------


def test_an_update_without_a_change_leaves_the_store_usable() -> None:
    """3.4: `a` has a frame that is not acknowledged, and crashes before it feeds the others."""
    bus = cluster(total_failure=TotalFailure.AUTOMATIC)
    bus.write("a")
    bus.settle()
    bus.write("a")
    bus.wire.clear()
    bus.start(config("d", total_failure=TotalFailure.AUTOMATIC))
    _slowly(bus, 5)
    assert all(bus[name].member.source for name in "bc")
    bus.crash("a")
    bus.wire.clear()
    bus.wait()

    assert "a down, b active, c active, d active" == bus.phases()


def test_an_update_that_overwrites_makes_the_store_unusable_until_it_is_done() -> None:
    """3.2: until then the contents of the store are unknown."""
    bus = cluster()
    bus.write("a")
    bus.settle()
    bus.start(config("d"))
    while bus["d"].member.source is None:
        bus.step()
    bus.tell("d", lambda member: member.update_overwrites(bus.now))
    assert bus.disks["d"].record.update_unfinished

    bus.tell("d", lambda member: member.update_done(bus.now, None))
    assert not bus.disks["d"].record.update_unfinished


# -- transient members ---------------------------------------------------------------------


def test_a_transient_member_does_not_continue_alone() -> None:
    """3.4: a CHANGE needs a member with a store."""
    bus = Bus()
    for name in "abc":
        bus.start(config(name, wait_for=1, outside=True, is_transient=name == "a"))
    bus.wait()
    assert "a active, b active, c active" == bus.phases()

    bus.partition("a", "bc")
    bus.wait(5)

    view = bus["b"].serves
    assert view is not None
    assert {"b", "c"} == {seat.member for seat in view.members}
    assert bus["a"].serves is None

    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_store_is_updated_if_the_sure_members_are_transient() -> None:
    """3.4: acknowledged frames need a store, so `a` alone must not serve."""
    bus = Bus()
    for name in "abcd":
        bus.start(config(name, electors="bcd", is_transient=name == "a"))
    bus.wait()
    # Each of b, c and d misses the last frame before it crashes, and no member feeds it later.
    _write_without(bus, "b")
    bus.crash("b")
    _slowly(bus, 5)
    _write_without(bus, "c")
    bus.crash("c")
    bus.start(config("b", electors="bcd"))
    _slowly(bus, 10)
    _write_without(bus, "d")
    bus.crash("d")
    bus.start(config("c", electors="bcd"))
    _slowly(bus, 10)

    assert bus["a"].serves is None
    view = bus["a"].member.view
    assert view is not None
    assert {"a", "b", "c"} == {seat.member for seat in view.members}

    bus.wait()

    assert "a active, b active, c active, d down" == bus.phases()
    assert bus.disks["a"].frames == bus.disks["b"].frames == bus.disks["c"].frames
    assert 3 == len(bus.disks["b"].frames)


def test_a_transient_cluster_continues_without_members_that_left_or_crashed() -> None:
    """3.7: it was founded without a store, so it needs no store."""
    bus = Bus()
    for name in "abc":
        bus.start(config(name, wait_for=1, outside=True, is_transient=True))
    bus.wait()
    bus.crash("c")
    bus.wait(5)
    bus.tell("b", lambda member: member.leave(bus.now))
    bus.wait(5)

    assert "a active, b stopped, c down" == bus.phases()

    bus.start(config("c", wait_for=1, outside=True, is_transient=True))
    bus.wait()
    bus.crash("a")
    bus.wait()

    assert "a down, b stopped, c active" == bus.phases()


def test_a_transient_cluster_is_shut_down_and_ends() -> None:
    """S2: no member has a store, so no store is clean afterwards."""
    bus = Bus()
    for name in "ab":
        bus.start(config(name, electors="ab", wait_for=1, outside=True, is_transient=True))
    bus.wait()
    bus.tell("b", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()

    assert "a stopped, b stopped" == bus.phases()

    for name in "ab":
        bus.start(config(name, electors="ab", wait_for=1, outside=True, is_transient=True))
    bus.wait()

    assert "a initializing, b initializing" == bus.phases()
    said = [one for one in bus["a"].seen if isinstance(one, Waiting)]
    assert Reason.NO_CLEAN_STORE is said[-1].reason


def test_a_register_s_founding_may_have_electors_that_are_not_configured() -> None:
    """3.7: no member votes; if no member has a store, all members count as electors."""
    bus = Bus()
    for name in "abc":
        bus.start(config(name, electors="ab", wait_for=1, outside=True, is_transient=True))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


# -- leaving ---------------------------------------------------------------------------------------


def test_a_leave_does_not_give_absent_members_the_majority() -> None:
    """`c` has crashed and `b` leaves; of `a` and `c`, `a` alone would be no majority."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    bus.tell("b", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a suspended, b stopped, c down" == bus.phases()
    assert {"CHANGE 3 of a"} == bus.tips()

    bus.start(config("b"))
    bus.wait()

    assert "a active, b active, c down" == bus.phases()


def test_a_member_that_reaches_no_majority_leaves_by_stopping() -> None:
    """No view without it can be chosen, so it would wait for ever."""
    bus = cluster()
    bus.crash("c")
    bus.crash("b")
    bus.tell("a", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a stopped, b down, c down" == bus.phases()

    for name in "abc":
        bus.start(config(name, total_failure=TotalFailure.AUTOMATIC))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_member_that_is_needed_for_n_may_not_leave_before_the_cluster_serves() -> None:
    """W1: after a crash of both, `a` would wait for N = 2, and `b` for its leave, for ever."""
    automatic = TotalFailure.AUTOMATIC
    bus = cluster("ab", electors="ab", total_failure=automatic)
    for name in "ab":
        bus.crash(name)
    for name in "ab":
        bus.start(config(name, electors="ab", total_failure=automatic))
    bus.tell("b", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a active, b active" == bus.phases()
    said = [event.what for event in bus["b"].seen if isinstance(event, Refusal)]
    assert ["it may not leave: no store would stay, or too few"] == said

    bus.tell("b", lambda member: member.leave(bus.now))
    bus.wait()

    assert "a active, b stopped" == bus.phases()


# -- a sole elector --------------------------------------------------------------------------------


def test_a_sole_elector_asks_members_that_come_later() -> None:
    """`c` and `b` left, and `a` crashed and came back first."""
    automatic = TotalFailure.AUTOMATIC
    bus = cluster(total_failure=automatic)
    for name in "cb":
        bus.tell(name, lambda member: member.leave(bus.now))
        bus.wait()
    bus.crash("a")
    bus.start(config("a", total_failure=automatic))
    bus.wait(2)
    assert "a frozen, b stopped, c stopped" == bus.phases()
    for name in "bc":
        bus.start(config(name, total_failure=automatic))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


# -- the orderly shutdown --------------------------------------------------------------------------


def test_a_shutdown_ends_members_that_were_just_started_again() -> None:
    """S2: although they are not ready again yet."""
    bus = cluster()
    for name in "bc":
        bus.crash(name)
    for name in "bc":
        bus.start(config(name))
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()

    assert "a stopped, b stopped, c stopped" == bus.phases()

    for name in "abc":
        bus.start(config(name))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_shutdown_ends_a_newcomer_that_is_being_updated() -> None:
    bus = cluster()
    bus.write("a")
    bus.settle()
    bus.start(config("d"))
    while bus["d"].member.source is None:
        bus.step()
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    _slowly(bus, 20)

    assert "a stopped, b stopped, c stopped, d stopped" == bus.phases()


def test_a_shutdown_ends_a_newcomer_that_was_about_to_be_taken_in() -> None:
    """S2: the ballot about the CLOSE does not reach `d`, which is in no view."""
    bus = cluster()
    bus.write("a")
    bus.settle()
    bus.crash("c")
    bus.wait()  # the next view starts after the frame, so `d` is updated alongside that view
    bus.start(config("d"))
    for _ in range(200):
        if bus["d"].member.source is not None:
            break
        bus.step()
    assert Phase.JOINING is bus["d"].member.phase
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    for _ in range(200):
        for envelope in _envelopes(bus, "d", Prepare):
            bus.wire.remove(envelope)
        if bus["a"].runs:
            bus.step()
    bus.wait()

    assert "a stopped, b stopped, c down, d stopped" == bus.phases()


def test_a_shutdown_ends_an_elector_that_was_left_out() -> None:
    """S2: although it does not hear the proposer of the CLOSE."""
    bus = cluster()
    bus.partition("ab", "bc")
    bus.wait()
    assert "a active, b active, c joining" == bus.phases()
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()

    assert "a stopped, b stopped, c stopped" == bus.phases()


def test_a_shutdown_ends_a_member_that_does_not_hear_its_proposer() -> None:
    """S2: `b` has no vote, and hears of the CLOSE from another member."""
    bus = cluster(electors="ac")
    bus.tell("c", lambda member: member.shutdown_cluster(bus.now))
    for _ in range(200):
        # Only `a` counts the votes, and it has no connection to `b` yet.
        apart = [one for one in bus.wire if {one.sender, one.to} == {"a", "b"}]
        for envelope in apart + _envelopes(bus, "c", Voted):
            bus.wire.remove(envelope)
        if bus["c"].runs:
            bus.step()
    assert not bus["a"].runs
    bus.wait()

    assert "a stopped, b stopped, c stopped" == bus.phases()


def test_a_shutdown_ends_a_guest_that_never_saw_the_view_run() -> None:
    """S2: no member has told `d` which members are ready."""
    bus = cluster()
    bus.start(config("d"))
    while bus["d"].member.phase is not Phase.JOINING:
        bus.step()
    assert not bus["d"].member.state.saw_it_run
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    for _ in range(200):
        for envelope in _envelopes(bus, "d", Prepare):
            bus.wire.remove(envelope)
        if bus["a"].runs:
            bus.step()
    bus.wait()

    assert "a stopped, b stopped, c stopped, d stopped" == bus.phases()


def _unheard(bus: Bus, name: str, seconds: float) -> None:
    """Advance the time without delivering messages to or from this member."""
    until = bus.now + seconds
    while bus.wire or ((due := bus.next_deadline()) is not None and due <= until):
        bus.step()
        for envelope in [one for one in bus.wire if name in (one.sender, one.to)]:
            bus.wire.remove(envelope)


def test_a_shutdown_stays_requested_if_its_member_is_left_out_of_a_view() -> None:
    """S2: the member is taken in again soon after."""
    bus = cluster()
    bus.tell("c", lambda member: member.shutdown_cluster(bus.now))
    bus.start(config("d"))
    _unheard(bus, "c", 12)
    assert {"CHANGE 2 of a b d"} == {str(bus[name].member.view).split(" (")[0] for name in "abd"}

    bus.wait()

    assert "a stopped, b stopped, c stopped, d stopped" == bus.phases()


def test_a_shutdown_is_void_after_the_others_continued_for_long() -> None:
    """S2: a member that is taken in much later must not stop them by its old request."""
    bus = cluster()
    bus.tell("c", lambda member: member.shutdown_cluster(bus.now))
    bus.start(config("d"))
    _unheard(bus, "c", 40)

    bus.wait()

    assert "a active, b active, c active, d active" == bus.phases()


def test_a_shutdown_stays_requested_if_its_member_is_cut_off_for_a_moment() -> None:
    """S2: `a`, one of two electors, was restarted, and left `b` out of one view."""
    bus = cluster(electors="ac")
    bus.crash("a")
    bus.tell("b", lambda member: member.shutdown_cluster(bus.now))
    bus.start(config("a", electors="ac"))
    _unheard(bus, "b", 12)
    assert {"CHANGE 2 of a c"} == {str(bus[name].member.view).split(" (")[0] for name in "ac"}

    bus.wait()

    assert "a stopped, b stopped, c stopped" == bus.phases()


def test_a_shutdown_is_void_after_its_member_was_cut_off() -> None:
    """S2: its earlier request does not stop the others, and it reports that."""
    bus = cluster()
    bus.tell("c", lambda member: member.shutdown_cluster(bus.now))
    bus.partition("ab", "c")
    bus.wait(10)
    assert "a active, b active, c frozen" == bus.phases()
    bus.partition()
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    said = [event.what for event in bus["c"].seen if isinstance(event, Refusal)]
    assert ["it may not stop the others: they went on without it"] == said


def test_a_member_that_was_away_at_the_shutdown_takes_part_in_the_restart() -> None:
    """P2: it does not stop when it learns of the CLOSE."""
    bus = cluster()
    bus.crash("c")
    bus.wait()
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()
    bus.start(config("c"))
    bus.start(config("b"))
    bus.wait()
    bus.start(config("a"))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()


# -- the clean store is lost -----------------------------------------------------------------------


def closed_with_a_tail(total_failure: TotalFailure = TotalFailure.MANUAL) -> Bus:
    """Return a cluster that was closed when only `a` had its last frame; `a` lost its disk."""
    bus = cluster(total_failure=total_failure)
    bus.write("a")
    bus.settle()
    bus.write("a")
    bus.wire.clear()
    bus.tell("a", lambda member: member.shutdown_cluster(bus.now))
    bus.wait()
    bus.wipe("a")
    for name in "abc":
        bus.start(config(name, total_failure=total_failure))
    bus.wait()
    return bus


def test_if_the_clean_store_is_lost_the_operator_permits_another_store() -> None:
    """I6, R3: the other stores have all acknowledged frames."""
    bus = closed_with_a_tail()
    assert all(host.serves is None for host in bus.hosts.values())

    for name in "abc":
        bus.crash(name)
    tip = bus.disks["b"].record.tip
    assert tip is not None
    bus.disks["b"].record = evolve(bus.disks["b"].record, mark=tip.id)
    for name in "abc":
        bus.start(config(name))
    bus.wait()

    assert "a active, b active, c active" == bus.phases()
    assert 1 == len(bus.disks["a"].frames)
    bus.write("a")
    bus.wait(1)
    assert 2 == len(bus.disks["c"].frames)


def test_if_the_clean_store_is_lost_automatic_recovery_continues() -> None:
    bus = closed_with_a_tail(total_failure=TotalFailure.AUTOMATIC)

    assert "a active, b active, c active" == bus.phases()


@pytest.mark.parametrize("heartbeat", [0.0, 0.5])
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_failed_ballot_before_the_start_does_not_delay_members(
    heartbeat: float, is_lost: bool
) -> None:
    """3.3: a started member waits for members that ran on, longer after each failed ballot.

    If hellos are lost, the two must not wait long for each other.
    """
    given: dict[str, Any] = {
        "total_failure": TotalFailure.AUTOMATIC,
        "patience": 2.0,
        "heartbeat": heartbeat,
    }
    bus = cluster(**given)
    for name in "abc":
        bus.crash(name)
    start_all(bus, "ab", **{**given, "wait_for": 3})
    bus.wait(20)
    assert not any(bus[name].serves for name in "ab")
    for name in "ab":
        bus.crash(name)
    bus.wire.clear()
    start_all(bus, "ab", **given)
    if is_lost:
        bus.wire.clear()
    bus.wait(8)

    assert "a active, b active, c down" == bus.phases()


# -- ballots that are ignored ----------------------------------------------------------------------


def _envelopes(bus: Bus, to: str, kind: type = Prepare) -> list[Envelope]:
    said = [one for one in bus.wire if one.to == to and isinstance(one.content, bytes)]
    return [one for one in said if isinstance(decode(one.content), kind)]  # type: ignore[arg-type]


def _asked(bus: Bus, to: str, kind: type = Prepare) -> list[object]:
    return [one.content for one in _envelopes(bus, to, kind)]


def test_a_ballot_that_was_ignored_lasts_and_asks_again() -> None:
    """3.3: all founders must answer, but a member ignores a ballot while another has its time."""
    bus = Bus()
    start_all(bus, "abc")
    while not _asked(bus, "c"):
        bus.step()
    (first,) = _asked(bus, "c")
    for envelope in [one for one in bus.wire if one.to == "c"]:
        bus.wire.remove(envelope)
    bus.settle()
    while not _asked(bus, "c"):
        bus.step()

    assert [first] == _asked(bus, "c")

    bus.wait()

    assert "a active, b active, c active" == bus.phases()


def test_a_view_without_a_vote_is_proposed_again() -> None:
    """3.3: a member that has voted is not asked again, and no later ballot is begun."""
    bus = Bus()
    start_all(bus, "abc")
    while not _asked(bus, "c", Accept):
        bus.step()
    first = _asked(bus, "c", Accept)
    bus.wire.clear()
    while not _asked(bus, "c", Accept):
        bus.step()

    assert first == _asked(bus, "c", Accept)

    bus.wait()

    assert "a active, b active, c active" == bus.phases()


@pytest.mark.parametrize(("replaced", "late"), [("bc", "d"), ("cd", "b")])
def test_founders_that_come_back_with_other_stores_are_asked_again(
    replaced: str, late: str
) -> None:
    """3.3: two of four founders answered and then lost their disks."""
    bus = Bus()
    start_all(bus, "abcd", electors="abcd", wait_for=3)
    while not _asked(bus, late):
        bus.step()
    for envelope in _envelopes(bus, late, Prepare):
        bus.wire.remove(envelope)
    bus.settle()
    for name in replaced:
        bus.crash(name)
        bus.wipe(name)
    start_all(bus, replaced, electors="abcd", wait_for=3)
    bus.wait(60)

    assert "a active, b active, c active, d active" == bus.phases()


def test_an_hour_of_separation_does_not_count_as_the_time_of_a_message() -> None:
    """Patience follows the time of answers, but not an absence of an hour."""
    bus = cluster()
    bus.partition("a", "b", "c")
    bus.wait(3600)
    bus.partition()
    bus.wait(30)

    assert {2} == {bus[name].member.state.timers.patience(2) for name in "abc"}


# -- links that are cut ----------------------------------------------------------------------------


def test_a_newcomer_that_is_now_apart_is_not_taken_in_repeatedly() -> None:
    """3.4: the link of `d` to `c` broke before `d` was taken in."""
    bus = cluster()
    bus.start(config("d"))
    while bus["d"].member.phase is not Phase.JOINING:
        bus.step()
    bus.partition("abc", "abd")  # the hello in which `d` names all members is under way
    bus.wait()

    assert "a active, b active, c active, d joining" == bus.phases()
    view = bus["a"].member.view
    assert view is not None
    assert view.number <= 2

    bus.partition()
    bus.wait()

    assert "a active, b active, c active, d active" == bus.phases()


def test_a_newcomer_does_not_end_the_wait_for_missing_answers() -> None:
    """`a` asks all about `d`, then `e` says hello; the next view must wait for the answers.

    Otherwise the view has only `a` and the newcomers, and leaves b and c out (seed 41200249).
    """
    bus = Bus()
    for name in "abc":
        bus.start(config(name, wait_for=1, outside=True))
    bus.wait()
    bus.start(config("d", wait_for=1, outside=True))
    while bus["a"].member.state.choice.attempt is None:
        bus.step()
    bus.start(config("e", wait_for=1, outside=True))
    while len(bus["a"].member.state.observations.guests) < 2:
        said = [one.content for one in bus.wire]
        answers = [isinstance(one, bytes) and isinstance(decode(one), Promise) for one in said]
        bus.deliver(answers.index(False))

    until = bus["a"].member.state.patience_until
    assert until is not None
    assert bus.now < until
    bus.wait()
    assert "a active, b active, c active, d active, e active" == bus.phases()
    view = bus["a"].member.view
    assert view is not None
    assert view.number <= 3
