"""A disk that is restored from a backup: no acknowledged frame is lost.

All members are killed, the disks of one or two are replaced by copies of any age, and all start.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from attrs import frozen

from joinproto.join.config import TotalFailure
from joinproto.join.messages import Abort, Waiting
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position
from joinproto.machine.vocabulary import Reason
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tests.join.bus import Bus, Disk, config, start_all

Frames = tuple[Position, ...]
BOTH = tuple(TotalFailure)


@frozen
class Copy:
    """The contents of a disk at some moment."""

    record: StoreRecord
    frames: Frames


@frozen
class History:
    """The contents of the disks at each moment, oldest first, and the acknowledged frames."""

    moments: tuple[dict[str, Copy], ...]
    acknowledged: Frames


@cache
def history() -> History:
    """Return a run in which each of three members is away for one view, while writes go on."""
    bus = Bus()
    moments: list[dict[str, Copy]] = []
    acknowledged: list[Position] = []

    def keep(*_: object) -> None:
        now = {name: Copy(disk.record, disk.frames) for name, disk in bus.disks.items()}
        if set(now) == set("abc") and now not in moments[-1:]:
            moments.append(now)

    def write(count: int = 1) -> None:
        for _ in range(count):
            (first, *_) = [bus[name] for name in bus.up() if bus[name].serves]
            frame = first.write()
            bus.settle()
            assert frame is not None
            assert first.is_acknowledged(frame)
            acknowledged.append(frame)

    bus.wrote = bus.kept = keep
    start_all(bus, "abc")
    bus.wait()
    for away in "bca":
        write()
        bus.crash(away)
        bus.wait()
        write()
        bus.start(config(away))
        bus.wait()
    write(2)
    return History(tuple(moments), tuple(acknowledged))


def ages(*names: str) -> list[dict[str, Copy]]:
    """Return copies of these members' disks, one for each moment, without repetitions."""
    found: list[dict[str, Copy]] = []
    for moment in history().moments:
        some = {name: moment[name] for name in names}
        if some not in found:
            found.append(some)
    return found


def restarted(old: dict[str, Copy], total_failure: TotalFailure, order: str = "abc") -> Bus:
    """Return the cluster after all were killed and restarted, with these disks as older copies."""
    bus = Bus()
    for name, copy in (history().moments[-1] | old).items():
        bus.disks[name] = Disk(name, copy.record, copy.frames)
    start_all(bus, order, total_failure=total_failure)
    bus.wait(30)
    return bus


def lost(bus: Bus) -> Iterator[str]:
    """Yield the members that serve without an acknowledged frame."""
    for name in bus.up():
        missing = set(history().acknowledged) - set(bus.disks[name].frames)
        if bus[name].serves is not None and missing:
            yield f"{name} without {sorted(frame.seq for frame in missing)}"


def verdicts(bus: Bus) -> str:
    """Return the members that have ended because their store went back."""
    return "".join(
        name
        for name, host in sorted(bus.hosts.items())
        for action in host.told
        if isinstance(action, Abort) and action.reason is Reason.STORE_WENT_BACK
    )


def serves_or_says_why(bus: Bus) -> bool:
    """Return whether a member serves, or names the operator's next step."""
    hosts = [bus[name] for name in bus.up()]
    said = {
        event.reason for host in hosts for event in host.seen[-2:] if isinstance(event, Waiting)
    }
    asks = said & {Reason.NO_CLEAN_STORE, Reason.STORE_WENT_BACK}
    return bool(asks) or any(host.serves for host in hosts)


@pytest.mark.parametrize("total_failure", BOTH)
@pytest.mark.parametrize("name", "abc")
def test_no_frame_is_lost_by_one_older_disk(name: str, total_failure: TotalFailure) -> None:
    """3.6: the older disk alone suggests that no client was served since the backup."""
    for age, old in enumerate(ages(name)):
        bus = restarted(old, total_failure)

        assert [] == [*lost(bus)], age
        assert serves_or_says_why(bus), age
        served = total_failure is TotalFailure.AUTOMATIC
        assert served is any(host.serves for host in bus.hosts.values()), age
        assert verdicts(bus) in ("", name), age


@pytest.mark.parametrize("total_failure", BOTH)
@pytest.mark.parametrize("names", ["ab", "ac", "bc"])
def test_no_frame_is_lost_by_two_older_disks(names: str, total_failure: TotalFailure) -> None:
    """3.6: a member serves, or a member names the next step of the operator."""
    for age, old in enumerate(ages(*names)[::3]):
        bus = restarted(old, total_failure)

        assert [] == [*lost(bus)], age
        assert serves_or_says_why(bus), age


@pytest.mark.parametrize("seconds", [0.0, 5.0])
@pytest.mark.parametrize("name", "abc")
def test_a_disk_that_is_restored_alongside_running_members_serves_no_client(
    name: str, seconds: float
) -> None:
    """3.6: it is not ready again in the view that it has forgotten, where its frames are missing.

    With an empty directory it is taken in, and gets all frames.
    """
    for age, old in enumerate(ages(name)[::3]):
        bus = restarted({}, TotalFailure.AUTOMATIC)
        bus.write("a")
        bus.settle()
        bus.opened = lambda host, view, bus=bus, age=age: _has_all(bus, age)  # type: ignore[misc]
        bus.crash(name)
        bus.wait(seconds)
        bus.disks[name] = Disk(name, old[name].record, old[name].frames)
        bus.start(config(name, total_failure=TotalFailure.AUTOMATIC))
        bus.wait(30)

        _has_all(bus, age)
        assert [other for other in "abc" if bus[other].serves or other in verdicts(bus)] == [*"abc"]
        if verdicts(bus):
            bus.wipe(name)
            bus.start(config(name))
            bus.wait(30)
            assert all(bus[other].serves for other in "abc"), age
            _has_all(bus, age)


def _has_all(bus: Bus, age: int) -> None:
    assert [] == [*lost(bus)], age


def test_frames_are_lost_if_the_rule_is_left_out() -> None:
    """If the older disk of one member counts, all members lose frames."""
    with applied(mutation("backup-believed")):
        losing = [old for old in ages("b") if [*lost(restarted(old, TotalFailure.MANUAL))]]

    assert losing
