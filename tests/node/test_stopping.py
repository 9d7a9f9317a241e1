"""SIGTERM to one node after another, like `systemctl stop` on each host, and what follows."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from joinproto.machine.vocabulary import Store
from joinproto.store.handle import open_store
from tests.cli.running import run_apart, run_here
from tools.faults.clients import Connection, Ledger, Writers
from tools.faults.nodes import Fleet, until

Make = Callable[..., Fleet]


def texts(fleet: Fleet, name: str) -> list[str]:
    connection = Connection(fleet[name].clients)
    found = connection.read_all()
    connection.close()
    assert found is not None
    return [text for _, text in found]


def stop_all(three: Fleet, order: str, pause: float) -> Ledger:
    """Stop the nodes one after another while clients write; return the acknowledged frames."""
    ledger = Ledger()
    writers = Writers([three[name].clients for name in "abc"], ledger, count=3)
    until(lambda: len(ledger.acknowledged) > 20)
    for name in order:
        three[name].signal(signal.SIGTERM)
        assert 0 == three[name].wait()
        time.sleep(pause)
    writers.stop()
    return ledger


def assert_all_acknowledged_frames_are_there(three: Fleet, ledger: Ledger) -> None:
    found = texts(three, "a")
    assert found == texts(three, "b") == texts(three, "c")
    for text, number in ledger.acknowledged.items():
        assert text == found[number - 1]


@pytest.mark.parametrize(
    ("stopped", "started", "pause"),
    [
        pytest.param("abc", "abc", 10, marks=pytest.mark.soak("nodes")),
        pytest.param("bca", "acb", 2, marks=pytest.mark.soak("nodes")),
        pytest.param("cab", "bca", 0, marks=pytest.mark.landing),
    ],
)
def test_nodes_stopped_one_after_another_come_back_by_themselves(
    fleet: Make, stopped: str, started: str, pause: float
) -> None:
    """No store has to be marked, and no acknowledged frame is lost."""
    three = fleet()
    three.start()
    three.wait_active()
    ledger = stop_all(three, stopped, pause)

    for name in started:
        three[name].start()
        time.sleep(0.5)

    three.wait_active()
    assert_all_acknowledged_frames_are_there(three, ledger)
    assert "joinproto recover" not in "".join(three[name].said() for name in "abc")
    valid = run_apart("validate", str(three.top / "events"))
    assert 0 == valid.code, valid.out + valid.err


@pytest.mark.parametrize("there", ["ab", "ca"])
@pytest.mark.landing
def test_two_of_three_stopped_nodes_can_restart_the_cluster(fleet: Make, there: str) -> None:
    three = fleet()
    three.start()
    three.wait_active()
    ledger = stop_all(three, "abc", 1)

    three.start(there)
    three.wait_active(there)
    three.start(sorted({"a", "b", "c"} - set(there)))
    three.wait_active()

    assert_all_acknowledged_frames_are_there(three, ledger)


@pytest.mark.landing
def test_a_stopped_node_is_away_and_the_others_continue(fleet: Make) -> None:
    """The node stays an elector, so stopping a second node ends the majority."""
    three = fleet()
    three.start()
    three.wait_active()

    three["b"].signal(signal.SIGTERM)
    assert 0 == three["b"].wait()
    until(lambda: three["a"].status()["view"]["members"] == ["a", "c"])
    three.wait_active("ac")

    view = three["a"].status()["view"]
    assert (["a", "c"], ["a", "b", "c"]) == (view["members"], view["electors"])
    assert "stays a member" in three["b"].said()
    three["a"].signal(signal.SIGTERM)
    assert 0 == three["a"].wait()
    until(lambda: not three["c"].status()["serves"])
    three["a"].start()
    three.wait_active("ac")


@pytest.mark.landing
def test_the_permission_of_a_stop_is_void_if_the_others_continued(fleet: Make) -> None:
    """A later kill of all is then a total failure, reported in the log and by `status`."""
    three = fleet()
    three.start()
    three.wait_active()
    three["a"].signal(signal.SIGTERM)
    assert 0 == three["a"].wait()
    with open_store(three["a"].data) as store:
        assert store.record.is_marked
    until(lambda: three["b"].status()["view"]["members"] == ["b", "c"])
    three.wait_active("bc")
    for name in "bc":
        three[name].kill()

    three.start()

    until(lambda: "no-clean-store" in "".join(three[name].said() for name in "abc"))
    until(lambda: any((three[name].status().get("waiting") or {}).get("next") for name in "abc"))
    waiting = [three[name].status()["waiting"] or {} for name in "abc"]
    assert not any(three[name].status()["serves"] for name in "abc")
    assert any("joinproto recover pick" in (one.get("next") or "") for one in waiting)
    assert "joinproto recover pick" in "".join(three[name].said() for name in "abc")


@pytest.mark.landing
def test_status_names_the_command_that_helps(
    fleet: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    three = fleet()
    three.start()
    three.wait_active()
    for name in "abc":
        three[name].kill()
    three.start()

    def helps() -> bool:
        said = [
            run_here(capsys, "status", "--config", str(three[name].config)).out for name in "abc"
        ]
        return any("next    " in one and "joinproto recover pick" in one for one in said)

    until(helps)


@pytest.mark.landing
def test_a_shutdown_gives_up_a_member_that_is_away_and_leaves_clean_stores(
    fleet: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """`shutdown --help` says so."""
    three = fleet()
    three.start()
    three.wait_active()
    three["c"].kill()

    done = run_here(capsys, "shutdown", "--config", str(three["a"].config))

    assert (0, [0, 0]) == (done.code, [three[name].wait() for name in "ab"])
    for name in "ab":
        with open_store(three[name].data) as store:
            assert (Store.CLEAN, False) == (store.record.state, store.record.is_marked)
    three.start()
    three.wait_active()


@pytest.mark.landing
def test_after_all_nodes_are_stopped_pick_advises_to_start_them(fleet: Make) -> None:
    """An operator who looks at the stores before the start gets no advice to recover."""
    three = fleet()
    three.start()
    three.wait_active()
    stop_all(three, "abc", 1)

    done = run_apart("recover", "pick", *(str(three[name].data) for name in "abc"))

    assert 0 == done.code
    assert "next: start all members: a restart from here is permitted already" in done.out
