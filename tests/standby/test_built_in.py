"""Brokers that promote themselves by the view chain: killed, cut off, stopped, promoted at once.

Source: hot standby, H2 to H4, H8, H10.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from tests.cli.running import run_here
from tests.standby.clients import consume, publish
from tools.failover.chase import ORDERS, chase
from tools.failover.condition import RUNS, run
from tools.failover.manager import Manager, running
from tools.failover.storm import Brokers, die_promoted
from tools.faults.storm import Storm

pytestmark = pytest.mark.soak("brokers")

FAULTS = [
    *("fail_over", "cut_primary", "stop_primary", "two_at_once"),
    *("full_disk", "total_failure", "switch"),
]


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Manager]:
    """Give three brokers, one of which has become primary without an operator."""
    with running(Manager.of(tmp_path, "abc", built_in=True, cuts=True)) as manager:
        manager.start()
        assert manager.wait_primary()
        for name in backups(manager):
            assert manager.wait_role(name, "backup")
        yield manager


def backups(manager: Manager) -> list[str]:
    return [name for name in manager.files if name != manager.primary]


def chain_of(manager: Manager, name: str) -> dict[str, object]:
    chain = manager.status(name)["chain"]
    assert isinstance(chain, dict)
    return chain


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


def test_no_confirmed_message_is_lost_by_any_of_these_faults(tmp_path: Path) -> None:
    brokers = Brokers.make(tmp_path, "abc", built_in=True)
    try:
        found = Storm(brokers, 5).run(kinds=FAULTS)
    finally:
        brokers.close()

    assert () == found.problems
    assert found.facts["confirmed"] == found.facts["consumed"] > 2_000


@pytest.mark.parametrize("name", RUNS)
def test_a_manager_outside_loses_messages_exactly_if_it_breaks_a_guard(
    tmp_path: Path, name: str
) -> None:
    """Each of three runs breaks one guard and loses messages; the other runs lose no message."""
    found = run(tmp_path, name)

    assert found["confirmed"]
    assert RUNS[name][1] == bool(found["lost"]), found
    # The brokers' event logs show the broken claims, too.
    assert RUNS[name][1] == bool(found["claims_broken"]), found


def test_an_emptied_broker_is_not_promoted_although_its_name_is_in_the_last_view(
    three: Manager, tmp_path: Path
) -> None:
    """H4: all brokers were killed, and one lost its directory, but the chain still has its name."""
    publish([three.url(three.primary)], "1")
    emptied, other = backups(three)
    last = three.primary
    for name in three.files:
        three.kill(name)
    shutil.rmtree(tmp_path / emptied)
    three.start(emptied, other, last)
    assert until(lambda: bool(chain_of(three, emptied)["open"]))

    said = three.call(emptied, "promote")

    assert "refused (H4)" in said.why
    assert "empty store" in said.why
    assert last == chain_of(three, emptied)["primary"]


def test_a_demoted_broker_is_promoted_again_and_has_all_messages(
    three: Manager, capsys: pytest.CaptureFixture[str]
) -> None:
    """H8: another broker takes over; when it dies, too, the first may be promoted again."""
    first = three.primary
    publish(three.urls(), "1", "2")
    shown = run_here(capsys, "standby", "status", "--config", str(three.files[first])).out
    assert "chain       open, generation 1\n" in shown
    three.call(first, "demote")
    second = three.wait_primary(but=first)
    assert three.wait_role(first, "backup")

    third = next(name for name in three.files if name not in (first, second))
    three.kill(third)
    assert until(lambda: third not in three.status(second)["up_to_date"])  # type: ignore[operator]
    publish(three.urls(), "3")
    three.kill(second)
    three.start(third)

    assert first == three.wait_primary()
    assert ["1", "2", "3"] == [body for body, _ in consume(three.urls(), 3)]


def test_the_broker_that_pick_names_becomes_primary_although_no_store_kept_a_promotion(
    three: Manager,
) -> None:
    """H10: the chain has a younger view than any store, and the former primary is not in it."""
    publish(three.urls(), "1")

    die_promoted(three)

    assert [("1", True)] == consume(three.urls(), 1)


@pytest.mark.parametrize("continues", [False, True])
def test_brokers_go_on_after_a_total_failure_if_all_are_there_and_the_setting_says_so(
    tmp_path: Path, continues: bool
) -> None:
    """H10: all three stores agree, so the last primary's store is proven to be the last."""
    more = 'total_failure = "continue"' if continues else ""
    with running(Manager.of(tmp_path, "abc", built_in=True, more=more)) as manager:
        manager.start()
        primary = manager.wait_primary()
        assert manager.wait_view(primary, "abc")
        publish(manager.urls(), "1", "2")
        for name in "abc":
            manager.kill(name)
        *there, last = sorted("abc", key=lambda name: name != primary)
        manager.start(*there)
        assert "" == manager.wait_primary(seconds=6), "a broker that was not seen may know more"
        manager.start(last)

        assert (primary if continues else "") == manager.wait_primary(
            seconds=30 if continues else 8
        )
        if continues:
            found = consume(manager.urls(), 2)
            assert [("1", True), ("2", True)] == found
            assert 2 == manager.status(primary)["generation"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_backup_catches_up_with_a_queue_under_load_only_from_the_back(
    tmp_path: Path, order: str
) -> None:
    """H5: more messages are put and taken than are copied; docs/standby.md has the long run."""
    # From the back it takes ten seconds, and longer on a busy machine; the run ends after that.
    seconds = 60 if order == "lifo" else 12
    found = chase(tmp_path, order, messages=2_000, rate=300, copies=200, seconds=seconds)

    left = [count for _, count in found["samples"]]
    if order == "lifo":
        assert found["caught_up_after"] is not None, found
    else:
        assert found["caught_up_after"] is None, found
        assert left[-1] > 0.9 * left[0]
