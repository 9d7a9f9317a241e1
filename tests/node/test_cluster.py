"""Three nodes as processes: tests of the drivers' promises with kill -9 and a proxy."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable

import pytest

from joinproto.store.handle import open_store
from tools.faults.clients import Connection, Ledger, Writers
from tools.faults.nodes import Fleet, until

Make = Callable[..., Fleet]
SUSPENDS = "no majority of the electors, or no outside register, is heard"


def write(fleet: Fleet, name: str, text: str) -> bytes:
    connection = Connection(fleet[name].clients)
    answer = connection.ask(f"append {text}")
    connection.close()
    return answer


def texts(fleet: Fleet, name: str) -> list[str]:
    connection = Connection(fleet[name].clients)
    found = connection.read_all()
    connection.close()
    assert found is not None
    assert list(range(1, len(found) + 1)) == [number for number, _ in found]
    return [text for _, text in found]


def views(fleet: Fleet) -> set[str]:
    return {fleet[name].status()["view"]["kind"] for name in fleet.nodes}


@pytest.mark.landing
def test_three_empty_stores_found_a_cluster(fleet: Make) -> None:
    three = fleet()
    three.start()
    three.wait_active()

    assert b"ok 1" == write(three, "b", "one")
    assert b"ok 2" == write(three, "c", "two")
    for name in "abc":
        assert ["one", "two"] == texts(three, name)
        assert "founded" == three[name].status()["outcome"]
    assert 1 == len({three[name].status()["initial"] for name in "abc"})


@pytest.mark.parametrize("victim", "abc")
@pytest.mark.landing
def test_any_member_may_be_killed_and_comes_back(fleet: Make, victim: str) -> None:
    """P1: no acknowledged frame is lost, the others go on, and the member rejoins."""
    three = fleet()
    three.start()
    three.wait_active()
    others = sorted(set("abc") - {victim})
    ledger = Ledger()
    writers = Writers([three[name].clients for name in "abc"], ledger, count=4)
    until(lambda: len(ledger.acknowledged) > 20)

    three[victim].kill()
    three.wait_active(others)
    count = len(ledger.acknowledged)
    until(lambda: len(ledger.acknowledged) > count + 20)
    three[victim].start()
    three.wait_active()
    count = len(ledger.acknowledged)
    until(lambda: len(ledger.acknowledged) > count + 20)
    writers.stop()

    found = {name: texts(three, name) for name in "abc"}
    assert found["a"] == found["b"] == found["c"]
    assert len(found["a"]) == len(set(found["a"])), "a frame is in the log once"
    for text, number in ledger.acknowledged.items():
        assert text == found["a"][number - 1]
    assert set() == ledger.refused & set(found["a"])
    assert "joined" == three[victim].status()["outcome"]


@pytest.mark.landing
def test_a_cluster_restarts_without_an_update_after_an_orderly_shutdown(fleet: Make) -> None:
    """P2, S2: all stores are clean, and no member needs an update (W2)."""
    three = fleet(wait_for=3)  # with 2, the slowest member would join the restarted cluster
    three.start()
    three.wait_active()
    for number in range(5):
        write(three, "abc"[number % 3], f"text {number}")

    three["b"].shutdown_cluster()

    assert [0, 0, 0] == [three[name].wait() for name in "abc"]
    for name in "abc":
        with open_store(three[name].data) as store:
            assert "clean" == store.record.state.value
    three.start()
    three.wait_active()
    for name in "abc":
        assert [f"text {number}" for number in range(5)] == texts(three, name)
        assert "restored" == three[name].status()["outcome"]
        assert "updating" not in three[name].said()


@pytest.mark.landing
def test_a_foreign_store_is_refused_with_both_signatures(fleet: Make) -> None:
    """J3: the fourth node has a store of another cluster, and must not be restarted."""
    ours = fleet("abcd", electors="abc")
    theirs = fleet("def", electors="def")
    for one, names in ((ours, "abc"), (theirs, "def")):
        one.start(names)
        one.wait_active(names)
    foreign = theirs["d"].status()["initial"]
    own = ours["a"].status()["initial"]
    theirs["e"].shutdown_cluster()
    theirs["d"].wait()
    shutil.copytree(theirs["d"].data, ours["d"].data)

    ours["d"].start()

    assert 5 == ours["d"].wait()
    last = ours["d"].said()
    assert "wrong-store" in last
    assert f"initial signature {foreign[:8]}" in last
    assert f"initial signature {own[:8]}" in last
    assert b"ok 1" == write(ours, "a", "undisturbed")


@pytest.mark.landing
def test_a_newcomer_without_a_store_is_updated_and_serves(fleet: Make) -> None:
    """J1: the members do not know its address."""
    four = fleet("abcd", electors="abc")
    four.start("abc")
    four.wait_active("abc")
    large = "x" * 60_000
    for number in range(40):
        assert write(four, "a", f"{number} {large}").startswith(b"ok")

    four["d"].start()
    four.wait_active()

    assert b"ok 41" == write(four, "d", "mine")
    assert texts(four, "a") == texts(four, "d")
    assert "joined" == four["d"].status()["outcome"]


@pytest.mark.soak("nodes")
def test_a_member_cut_off_from_two_suspends_itself_and_acknowledges_no_write(fleet: Make) -> None:
    """3.5: it suspends itself within seconds, and the others acknowledge writes."""
    three = fleet(tables="[timing]\nsilence = 1.0\nheartbeat = 0.2")
    three.start()
    three.wait_active()
    alone = Connection(three["a"].clients, seconds=60)
    assert b"ok 1" == alone.ask("append before")

    three.network.isolate(["a"])
    cut = time.monotonic()
    until(lambda: not three["a"].status()["serves"])
    suspended_after = time.monotonic() - cut
    three.wait_active("bc", gone="a")

    refused = alone.ask("append in the partition")
    # It may have promised a ballot, and be frozen; in both cases it hears no majority.
    assert refused.startswith(b"no not-active ")
    assert SUSPENDS in refused.decode()
    assert b"ok 2" == write(three, "b", "the majority goes on")
    assert not three["a"].status()["serves"]
    three.network.heal()
    three.wait_active()
    assert ["before", "the majority goes on"] == texts(three, "a")
    # `silence`, then the next look at the clock; a loaded machine has some more time.
    assert suspended_after < 1.0 + 4.0
    alone.close()


@pytest.mark.landing
def test_a_node_with_stop_leave_leaves_the_cluster_on_sigterm(fleet: Make) -> None:
    three = fleet(stop="leave")
    three.start()
    three.wait_active()

    three["b"].signal(signal.SIGTERM)

    assert 0 == three["b"].wait()
    three.wait_active("ac")
    view = three["a"].status()["view"]
    assert (["a", "c"], ["a", "c"]) == (view["members"], view["electors"])
    three["b"].start()
    three.wait_active()
    assert ["a", "b", "c"] == three["a"].status()["view"]["electors"]


@pytest.mark.landing
def test_a_leave_without_a_majority_is_a_stop(fleet: Make) -> None:
    """The member stays an elector that is away; it does not wait for an answer that cannot come."""
    three = fleet(stop="leave")
    three.start()
    three.wait_active()
    for name in "ab":
        three[name].kill()
    until(lambda: not three["c"].status()["serves"])

    three["c"].signal(signal.SIGTERM)

    assert 0 == three["c"].wait()
    assert "SIGTERM: leaves the cluster" in three["c"].said()


@pytest.mark.soak("nodes")
def test_a_suspended_process_is_given_up_and_comes_back(fleet: Make) -> None:
    """After SIGSTOP its connections stay open but silent; when it continues, it is behind."""
    three = fleet(tables="[timing]\nsilence = 1.0\nheartbeat = 0.2")
    three.start()
    three.wait_active()

    three["b"].signal(signal.SIGSTOP)
    three.wait_active("ac", gone="b")
    assert b"ok 1" == write(three, "a", "without b")
    three["b"].signal(signal.SIGCONT)
    three.wait_active()

    assert ["without b"] == texts(three, "b")


@pytest.mark.soak("nodes")
def test_a_link_that_works_in_one_direction_is_not_a_connection(fleet: Make) -> None:
    """Messages from a do not arrive at b, all others do; two of three continue."""
    three = fleet(tables="[timing]\nsilence = 1.0\nheartbeat = 0.2")
    three.start()
    three.wait_active()

    three.network.drop("a", "b")
    until(lambda: "b" not in three["a"].status()["peers"])
    until(lambda: any(write(three, name, "on we go").startswith(b"ok") for name in "abc"))
    three.network.heal()
    three.wait_active()

    assert {tuple(texts(three, name)) for name in "abc"} == {tuple(texts(three, "a"))}


@pytest.mark.soak("nodes")
def test_with_one_link_cut_two_members_serve_and_do_not_alternate(fleet: Make) -> None:
    """The two that continue have one view, and no other while the link is cut."""
    three = fleet(tables="[timing]\nsilence = 1.0\nheartbeat = 0.2")
    three.start()
    three.wait_active()

    three.network.cut("a", "b")

    def waits() -> bool:
        phases = [three[name].status()["phase"] for name in "abc"]
        return sorted(phases) == ["active", "active", "joining"]

    until(waits)
    view = three["c"].status()["view"]
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        assert write(three, "c", "on we go").startswith(b"ok")
        assert waits()
    assert view == three["c"].status()["view"]
    three.network.heal()
    three.wait_active()
    assert 1 == len({tuple(texts(three, name)) for name in "abc"})


@pytest.mark.landing
def test_a_full_disk_ends_the_node_and_loses_no_frame(fleet: Make) -> None:
    """With RLIMIT_FSIZE a write fails, the node ends with code 4, and the others continue."""
    three = fleet()
    three.start()
    three.wait_active()
    three["c"].fill_disk(40_000)

    acknowledged = []
    for number in range(40):
        text = f"{number} " + "x" * 2_000
        if write(three, "a", text).startswith(b"ok"):
            acknowledged.append(text)

    assert 4 == three["c"].wait()
    assert "on disk" in three["c"].said()
    three["c"].start()
    three.wait_active()
    found = texts(three, "c")
    assert acknowledged == [text for text in found if text in acknowledged]


@pytest.mark.landing
def test_after_a_total_failure_the_operator_decides(fleet: Make) -> None:
    """I6, P3: after kill -9 of all nodes none serves, and a log has the reason."""
    three = fleet()
    three.start()
    three.wait_active()
    write(three, "a", "before")
    for name in "abc":
        three[name].kill()

    three.start()
    until(lambda: any("no-clean-store" in three[name].said() for name in "abc"))

    assert not any(three[name].status().get("serves") for name in "abc")
