"""Single parts of a running node: addresses, nodes that ran, locks, left processes, wiping."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from joinproto.apps.clusterer.joinproto_node import JoinprotoNode
from joinproto.apps.clusterer.network import _address_of
from joinproto.apps.clusterer.rabbitmq import RabbitMQ
from joinproto.apps.clusterer.service import ServiceFailed, empty
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.coordinator import step
from joinproto.clusterer.messages import (
    AskLock,
    AskService,
    Boot,
    BootBroker,
    Booted,
    Down,
    Event,
    KeepMembers,
    Locked,
    Members,
    NewConfig,
    Receive,
    Send,
    ServiceTold,
    Silence,
)
from joinproto.clusterer.state import LockHolder, State, Who
from joinproto.clusterer.status import Status
from joinproto.net.addresses import Address


@pytest.mark.parametrize(("said", "reached"), [("0.0.0.0", "10.0.0.2"), ("10.0.0.7", "10.0.0.7")])
def test_a_node_that_listens_on_all_addresses_is_reached_at_the_address_of_its_calls(
    said: str, reached: str
) -> None:
    """Otherwise the other nodes call themselves instead, and wait for this node without end."""
    assert Address(reached, 7501) == _address_of(f"{said}:7501", "10.0.0.2")


def test_a_node_that_becomes_ready_while_a_service_boots_counts_as_one_that_ran() -> None:
    """U5: a node reports this once.  If it is missed, an earlier stopped node may go first."""
    held = Held(Config(1, frozenset("abc"), gospel="a"))
    boots = BootBroker(Boot.JOIN, held.config.nodes)
    state = State(
        who=Who("b"), status=Status.BOOTING, held=held, boots=boots, peers_running=frozenset("a")
    )
    state = step(state, Receive("c", NewConfig(held, achieved=True))).state
    booted = step(state, Booted())

    assert {*"abc"} == booted.state.record.ran
    assert KeepMembers(booted.state.record) == booted.effects[0]


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        (Silence("a", -1), {"b"}),
        (Receive("a", ServiceTold(-1, runs=False, version=1)), {"b"}),
        (Receive("a", ServiceTold(-1, runs=True, version=1)), {"a", "b"}),
    ],
)
def test_a_node_whose_connection_ends_asks_whether_the_other_node_runs(
    answer: Event, ran: set[str]
) -> None:
    """U5: a connection may end while both run.  If b took this for a's stop, b would go first after
    its own stop, with older data than a, which ran longer.
    """
    held = Held(Config(1, frozenset("ab"), gospel="a"))
    record = Members(members=frozenset("ab"), ran=frozenset("ab"))
    ready = State(who=Who("b"), status=Status.READY, held=held, record=record)
    asked = step(ready, Down("a"))

    assert (Send("a", AskService(-1)),) == asked.effects
    assert {"a", "b"} == asked.state.record.ran
    assert ran == step(asked.state, answer).state.record.ran


def test_a_node_that_adopts_a_config_in_silence_still_counts_the_sender_as_running() -> None:
    """U5: the sender, a, runs with the younger config.  If b forgot this, b would go first with
    older data than a, which ran longer.
    """
    old, new = (
        Held(Config(at, frozenset("ab"), gospel="a"), Notes.of({"a": "a~1"})) for at in (1, 2)
    )
    record = Members(members="ab", ran="ab", stopped=False)
    state = State(
        who=Who("b"), status=Status.READY, identity="b~1=a~1", achieved=old, held=old, record=record
    )
    adopted = step(state, Receive("a", NewConfig(new, achieved=True))).state

    assert "adopted in silence" == adopted.why.case
    assert {*"ab"} == adopted.record.ran
    assert {"b"} == step(adopted, Silence("a", -1)).state.record.ran


def test_a_lock_is_granted_again_to_the_node_that_has_it() -> None:
    """U5: the holder has begun another round.  If it were refused, it would wait for itself."""
    held = Held(Config(1, frozenset("abc"), gospel="a"))
    state = State(who=Who("b"), status=Status.REJOINING, held=held, lock=LockHolder("a", 1))
    again, other = (step(state, Receive(name, AskLock(2))) for name in "ac")

    assert (Send("a", Locked(2, granted=True)),) == again.effects
    assert LockHolder("a", 2) == again.state.lock
    assert (Send("c", Locked(2, granted=False)),) == other.effects


def node(data: Path) -> JoinprotoNode:
    where: Any = Address("127.0.0.1", 7000)
    return JoinprotoNode(node="a", data=data, listen=where, clients=where)


def test_a_disk_that_cannot_be_written_is_reported_as_the_services_failure(tmp_path: Path) -> None:
    """Such a boot is tried again, and does not end the node as a bug would."""
    with pytest.raises(ServiceFailed, match="No such file"):
        node(tmp_path / "gone" / "data")._keep_electors(["a"])


def test_a_process_that_a_killed_node_left_is_found_without_a_file(tmp_path: Path) -> None:
    """A node that is killed right after it started the process has not stored the process's id."""
    asked = node(tmp_path / "data")
    words = ["-c", "import time; time.sleep(60)", "-m", "joinproto", "node", "--config"]
    with subprocess.Popen([sys.executable, *words, str(asked._file)]) as process:
        try:
            # For a moment, while it becomes another program, the process has no arguments yet.
            assert asked._until(60, lambda: asked._running() == process.pid)
        finally:
            process.kill()
    assert asked._running() is None


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("kind", ["joinproto", "rabbitmq"])
def test_wiping_empties_the_data_directory_but_keeps_the_directory(
    kind: str, is_link: bool, tmp_path: Path
) -> None:
    """U3: the directory may be a mount point or a link."""
    place, data = tmp_path / "disk", tmp_path / "data" if is_link else tmp_path / "disk"
    (place / "queues" / "1").mkdir(parents=True)
    (place / "lost+found").mkdir()
    (place / "schema").write_text("x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    (place / "link").symlink_to(elsewhere)
    if is_link:
        data.symlink_to(place)
    before = place.stat().st_ino
    service: Any = (
        RabbitMQ("a@localhost", data, ctl=("false",)) if kind == "rabbitmq" else node(data)
    )
    for _ in range(2):  # after a crash in the middle, wiping again has the same result
        service.wipe()

        assert (["lost+found"], before) == (
            [one.name for one in place.iterdir()],
            place.stat().st_ino,
        )
        assert is_link is data.is_symlink()
        assert ["kept"] == [one.name for one in elsewhere.iterdir()]


def test_an_error_without_a_text_is_reported_by_its_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Some errors of the system have no text."""
    (tmp_path / "file").write_text("x")

    def fails(_: Path) -> None:
        raise TimeoutError

    monkeypatch.setattr(Path, "unlink", fails)
    with pytest.raises(ServiceFailed, match=f"{tmp_path}: TimeoutError"):
        empty(tmp_path)
