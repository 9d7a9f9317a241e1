"""The log within whole members, when connections break and the cluster is shut down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from joinproto.host.ports import Channel, Down, Up
from joinproto.join.messages import Stop
from joinproto.join.phases import Phase
from tests.log.engines import EngineCluster


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[EngineCluster]:
    cluster = EngineCluster(tmp_path, "ab")
    cluster.start("ab")
    cluster.calm(3)
    assert [Phase.ACTIVE] * 2 == [member.phase for member in cluster.members.values()]
    yield cluster
    cluster.close()


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
def test_a_write_whose_connection_broke_is_in_the_log_once(
    pair: EngineCluster, together: bool
) -> None:
    """The log's promise: a frame is in the log once, as long as the member that took it lives.

    b hands a frame to a, which writes it.  The connection is lost before b hears of that, and comes
    back in the same view, so b hands the frame in again.
    """
    pair.submit("b", "one")
    pair.deliver("b", "a")
    assert 1 == pair.members["a"].disk.journal.last_seq
    pair.disconnect("a", "b")
    for name in "ab":
        pair.step(name)
    assert Phase.SUSPENDED is pair.members["a"].phase
    pair.now += pair.patience / 2

    pair.connect("a", "b")
    for name in "ab":
        pair.step(name)
    if together:
        pair.deliver("b", "a")
        pair.deliver("a", "b")
    pair.calm(3)

    assert ["one"] == pair.members["a"].app.texts == pair.members["b"].app.texts
    assert {"one": 1} == Counter(text for text, _ in pair.acknowledged)
    assert 1 == pair.members["a"].engine.member.record.lineage.length, "in the same view"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[EngineCluster]:
    cluster = EngineCluster(tmp_path)
    cluster.start("abc")
    cluster.calm(3)
    yield cluster
    cluster.close()


def busy(cluster: EngineCluster, chance: Random) -> None:
    """Write as clients at all members, and deliver some of the messages."""
    for _ in range(chance.randint(5, 40)):
        cluster.submit(chance.choice("abc"), "x")
        full = [pair for pair, wire in cluster.wires.items() if wire]
        if full:
            cluster.deliver(*chance.choice(full), chance.randint(1, 4))
    for name in "abc":
        cluster.submit(name, "last")


@pytest.mark.parametrize("seed", range(12))
def test_an_orderly_shutdown_under_writes_leaves_all_stores_clean(
    three: EngineCluster, seed: int
) -> None:
    """P2: automatic restart after orderly shutdown.  S2: it marks the store clean."""
    chance = Random(seed)
    busy(three, chance)

    three.call(chance.choice("abc"), lambda member: member.engine.shutdown_cluster())
    three.calm(20, connecting=False)

    assert {name: Stop(is_clean=True) for name in "abc"} == three.ended


def test_frames_acknowledged_before_the_shutdown_exist_after_it(three: EngineCluster) -> None:
    busy(three, Random(1))
    three.call("b", lambda member: member.engine.shutdown_cluster())
    three.calm(20, connecting=False)
    acknowledged = [at.seq for _, at in three.acknowledged]

    three.start("abc")
    three.calm(5)

    assert acknowledged
    for member in three.members.values():
        assert Phase.ACTIVE is member.phase
        assert max(acknowledged) <= len(member.app.texts)


def test_a_shutdown_does_not_wait_for_ever_for_frames_to_come_to_rest(three: EngineCluster) -> None:
    """The members hear each other, but their logs do not."""
    three.lost = {Channel.HOST}
    three.submit("a", "one")
    three.call("b", lambda member: member.engine.shutdown_cluster())

    three.calm(4, connecting=False)
    assert {} == three.ended
    three.calm(20, connecting=False)

    assert {"a": True, "b": False, "c": False} == {
        name: stop.is_clean for name, stop in three.ended.items() if isinstance(stop, Stop)
    }


def test_a_shutdown_requested_at_two_members_at_once_is_one_shutdown(three: EngineCluster) -> None:
    busy(three, Random(2))

    for name in "cb":
        three.call(name, lambda member: member.engine.shutdown_cluster())
    three.calm(20, connecting=False)

    assert {name: Stop(is_clean=True) for name in "abc"} == three.ended


def test_members_that_speak_version_1_are_not_asked_to_rest(three: EngineCluster) -> None:
    """They would take the message for damage, and drop the connection."""
    for name in "abc":
        for other in set("abc") - {name}:
            three.members[name].items.append(Up(other, 1))
    three.calm(1)
    three.submit("b", "one")

    three.call("b", lambda member: member.engine.shutdown_cluster())

    assert not any(b"rest" in came.data for wire in three.wires.values() for came in wire)
    three.calm(20, connecting=False)
    assert set("abc") == set(three.ended)


def test_three_members_are_upgraded_one_after_another(tmp_path: Path) -> None:
    """docs/running.md, a rolling upgrade: writes continue, and reads once two of three confirm."""
    cluster = EngineCluster(tmp_path, speaks=dict.fromkeys("abc", 3))
    cluster.start("abc")
    cluster.calm(3)
    read_at: dict[str, list[int | str]] = {}

    for number, name in enumerate("cab", start=1):
        cluster.kill(name)
        cluster.calm(5)
        cluster.submit(min(cluster.members), f"without {name}")
        del cluster.speaks[name]
        cluster.start(name)
        cluster.calm(5)
        cluster.submit(name, f"with {name}")
        cluster.calm(1)
        read_at[name] = cluster.read(name)
        cluster.calm(1)
        assert 2 * number == len(cluster.acknowledged)

    assert {"c": ["unconfirmed: a, b cannot confirm reads yet"], "a": [4], "b": [6]} == read_at
    assert 1 == len({tuple(member.app.texts) for member in cluster.members.values()})
    cluster.close()


def test_a_read_at_a_member_that_the_others_have_left_is_refused(three: EngineCluster) -> None:
    """3.8: b is cut off from the others.  They notice it at once; b does not, and serves."""
    three.submit("a", "one")
    three.calm(1)
    for other in "ac":
        # No message arrives any more; only the far end learns that the connection is lost.
        del three.wires["b", other], three.wires[other, "b"]
        three.members[other].items.append(Down("b"))
    three.calm(3, connecting=False)
    three.submit("a", "two")
    three.calm(1, connecting=False)
    assert ["one", "two"] == [text for text, _ in three.acknowledged]
    assert Phase.ACTIVE is three.members["b"].phase

    answer = three.read("b")
    three.calm(3, connecting=False)

    assert [] == answer
    for other in "ac":
        three.members["b"].items.append(Down(other))
    three.step("b")
    assert ["no majority of the electors, or no outside register, is heard"] == answer
    late = three.read("b")
    three.calm(5)
    assert ["not active"] == late
    again = three.read("b")
    three.calm(1)
    assert [2] == again
