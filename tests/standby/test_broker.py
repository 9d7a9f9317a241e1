"""Brokers as processes, and Proton's client: what is confirmed, refused, kept, and taken over.

Source: hot standby, H2 to H4, H8, H10, H11.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from proton import ConnectionException, Message, symbol
from proton.utils import LinkDetached, SendException

from joinproto.drivers.framing import framed
from joinproto.standby.serving.agent import Exit
from joinproto.standby.serving.settings import read_settings
from tests.recovery.asking import ask_json
from tests.standby.clients import connected, consume, publish
from tests.tools.running import run_here
from tools.failover.__main__ import storm
from tools.failover.manager import Manager, free_ports, running

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Manager]:
    """Give a primary `a`, and a backup `b` that is up to date."""
    with running(Manager.of(tmp_path, "ab", more='events = "events"')) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.until("b", "backup")
        yield manager


def test_what_was_confirmed_is_there_when_another_one_takes_over(pair: Manager) -> None:
    """H4: durable or not; and it is marked, for somebody may have had it before."""
    publish(pair.urls(), "1", "2", "3")
    publish(pair.urls(), "only in memory", durable=False)
    assert [("1", False)] == consume(pair.urls(), 1)
    pair.kill("a")

    assert "b" == pair.promote("b")

    found = consume(pair.urls(), 3)
    assert [("2", True), ("3", True), ("only in memory", True)] == found
    assert 2 == pair.status("b")["generation"]


def test_a_dead_primary_that_comes_back_follows(pair: Manager) -> None:
    """H9, H10: it refuses to be primary, gives up what nobody else has, and catches up."""
    publish(pair.urls(), "1")
    pair.kill("a")
    pair.promote("b")
    publish(pair.urls(), "2")
    pair.start("a")

    assert pair.until("a", "backup")
    assert {"q": 2} == pair.status("a")["queues"]
    pair.kill("b")
    assert "a" == pair.promote("a")
    assert ["1", "2"] == [body for body, _ in consume(pair.urls(), 2)]


def test_nothing_is_confirmed_that_a_backup_lacks(pair: Manager) -> None:
    """H4: while a backup is stopped nobody is told anything; then the primary goes on without it,
    which is written down first; and the backup catches up when it is back."""
    pid = pair.agent("b")._pid()
    assert pid is not None
    publish(pair.urls(), "0")
    os.kill(pid, signal.SIGSTOP)
    try:
        confirmed: list[int] = []

        def one_more() -> None:
            publish(pair.urls(), "1")
            confirmed.append(1)

        thread = threading.Thread(target=one_more)
        thread.start()
        while True:
            was_confirmed = bool(confirmed)
            if ["a"] == pair.status("a")["up_to_date"]:
                break
            # Asked in this order: it was confirmed while the backup counted.
            assert not was_confirmed
            time.sleep(0.05)
        thread.join(20)
        assert confirmed
    finally:
        os.kill(pid, signal.SIGCONT)
    assert pair.until_in_view("a", "ab")


def test_a_backup_refuses_clients_and_says_where_the_primary_is(pair: Manager) -> None:
    """H11: who asks is told; who does not tries the next address; an administrator may enter."""
    primary, backup = pair.urls()
    with (
        pytest.raises(ConnectionException, match="redirect"),
        connected([backup], properties={symbol("joinproto.where"): True}) as asked,
    ):
        asked.create_sender("q")
    with connected([backup], properties={symbol("qpid.ha-admin"): 1}):
        pass
    with pytest.raises(ConnectionException), connected([backup]):
        pass

    publish([backup, primary], "by the list")

    assert [("by the list", False)] == consume([backup, primary], 1)


def test_total_failure_and_the_store_that_is_the_best(
    pair: Manager, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """H10: both are killed; `recover pick` names the last primary, and it is marked."""
    publish(pair.urls(), "1", "2")
    for name in "ba":
        pair.kill(name)
    paths = [tmp_path / "a", tmp_path / "b"]

    code, found = ask_json(capsys, "pick", *paths)
    pair.start()
    refused = [pair.call(name, "promote").code for name in "ab"]
    for name in "ab":
        assert Exit.SUCCESS == pair.call(name, "stop").code
    for path in paths:
        # Their mark is the one of the crash still: an orderly stop of who refuses heals nothing.
        assert "dirty" == _state(capsys, path)
    made = ask_json(capsys, "mark-clean", *paths)[1]["error"]["next"].rpartition(" ")[2]
    marked, _ = ask_json(capsys, "mark-clean", *paths, "--yes", "--plan-hash", made)
    pair.start()

    assert (0, "proven", str(paths[0])) == (
        code,
        found["verdict"],
        found["latest"][0].partition(":")[2],
    )
    assert [Exit.GENERIC, Exit.GENERIC] == refused
    assert 0 == marked
    assert "a" == pair.promote("a")
    assert ["1", "2"] == [body for body, _ in consume(pair.urls(), 2)]


def _state(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    return str(ask_json(capsys, "inspect", path)[1]["stores"][0]["state"])


def test_the_commands_speak_to_a_running_broker(
    pair: Manager, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """status, promote, demote, set: text, JSON, exit codes."""
    config = ("--config", str(pair.files["a"]))
    status = run_here(capsys, "standby", "status", *config)
    again = run_here(capsys, "standby", "promote", *config, "--json")
    changed = run_here(capsys, "standby", "set", *config, "backups=9")
    wrong = run_here(capsys, "standby", "set", *config, "backups=much")
    demoted = run_here(capsys, "standby", "demote", *config)

    assert 0 == status.code
    assert "primary, serves clients" in status.out
    assert (0, "ignored") == (again.code, again.object["verdict"])
    assert (0, "backups is 9\n") == (changed.code, changed.out)
    assert 2 == wrong.code
    assert "'much', expected seconds" in wrong.err
    lone = run_here(capsys, "standby", "status", *config)
    assert "connecting, stands as backup" in lone.out
    assert 0 == run_here(capsys, "standby", "promote", *config).code
    assert (0, "a is connecting\n") == (demoted.code, demoted.out)
    gone = run_here(capsys, "standby", "status", "--config", str(_elsewhere(tmp_path)))
    assert 4 == gone.code
    kinds = [json.loads(line)["kind"] for line in _events(tmp_path)]
    assert {"started", "role", "view", "promote"} <= set(kinds)


def _events(tmp_path: Path) -> list[str]:
    return [
        line
        for path in (tmp_path / "events").glob("a-*.jsonl")
        for line in path.read_text().splitlines()
    ]


def _elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "x").mkdir()
    return Manager.of(tmp_path / "x", "x").files["x"]


def test_a_primary_that_was_stopped_follows_the_younger_generation(pair: Manager) -> None:
    """H2: nothing fenced it; when it hears of the other one it serves no more.

    What it confirmed alone in between would be lost: that is the condition on a manager outside.
    """
    publish(pair.urls(), "1")
    pid = pair.agent("a")._pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "b" == pair.promote("b")
        publish(pair.urls()[1:], "2")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert pair.until("a", "backup")

    assert pair.until_in_view("b", "ab")
    assert 2 == pair.status("a")["generation"]
    assert ["1", "2"] == [body for body, _ in consume(pair.urls(), 2)]


def test_two_that_are_promoted_apart_have_one_generation_until_one_is_again(
    tmp_path: Path,
) -> None:
    """H2: neither may follow the other one; whoever chooses chooses what is lost."""
    with running(Manager.of(tmp_path, "abc", cuts=True)) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.until("b", "backup")
        assert manager.until("c", "backup")
        manager.isolate("c")
        manager.kill("a")
        assert ["b", "c"] == [manager.promote("b"), manager.promote("c")]
        assert manager.until("c", "primary")
        manager.heal()

        assert Exit.RUNNING_PRIMARY is manager.call("b", "monitor").code
        assert Exit.RUNNING_PRIMARY is manager.call("c", "monitor").code
        manager.call("c", "demote")
        assert not manager.until("c", "catchup", seconds=3)
        assert "b" == manager.status("c")["primary"]
        manager.call("b", "demote")
        assert "b" == manager.promote("b")
        assert manager.until("c", "backup")

        assert manager.until_in_view("b", "bc")
        assert 3 == manager.status("b")["generation"]


def test_a_greeting_that_is_none_ends_only_its_own_connection(pair: Manager) -> None:
    """What comes from anybody is refused in a line of the log, whatever it is."""
    file = pair.files["a"]
    hello = {"kind": "hello", "version": 1, "broker": "b", "cluster": "storm"}
    greetings = [
        {**hello, "public": "nowhere"},
        {**hello, "public": f"here:{'1' * 5_000}"},
        {**hello, "public": None},
        {**hello, "broker": ["b"]},
        {**hello, "version": {}},
    ]
    for body in (b"x", b"[1]\n", *(json.dumps(one).encode() + b"\n" for one in greetings)):
        at = read_settings(file).brokers["a"]
        with socket.create_connection((at.host, at.port), timeout=20) as stranger:
            stranger.sendall(framed(body))
            while stranger.recv(1_000):
                pass

    assert "backup" == pair.status("b")["role"]
    log = (file.parent / "a" / "broker.log").read_text()
    assert "'nowhere' is not an address" in log
    assert "Traceback" not in log


def test_an_administrator_does_not_wait_for_a_broker_that_serves_no_more(pair: Manager) -> None:
    """What it published is not confirmed any more: its connection ends, as all others do."""
    pid = pair.agent("b")._pid()
    assert pid is not None
    admin = {symbol("qpid.ha-admin"): 1}
    with connected(pair.urls()[:1], properties=admin) as connection:
        sender = connection.create_sender("q")
        os.kill(pid, signal.SIGSTOP)
        try:
            threading.Timer(0.5, pair.call, ("a", "demote")).start()
            with pytest.raises(ConnectionException):
                sender.send(Message(body="1", durable=True), timeout=10)
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_message_without_an_end_does_not_fill_the_memory(pair: Manager) -> None:
    """It is refused when it is too long; when it is far too long before it is whole."""
    with pytest.raises(ConnectionException), connected(pair.urls()[:1]) as connection:
        connection.create_sender("q").send(Message(body="x" * 80_000_000))

    status = Path(f"/proc/{pair.agent('a')._pid()}/status").read_text()
    most = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(most.split()[1]) < 80_000
    publish(pair.urls(), "1")


def _refused_links(urls: list[str]) -> None:
    """See that a link which cannot be is refused with the reason, and nothing else ends."""
    with connected(urls) as connection:
        with pytest.raises(LinkDetached, match="printable characters"):
            connection.create_sender("q" * 300)
        with pytest.raises(LinkDetached, match="without a queue's name"):
            connection.create_receiver(None)
        with pytest.raises(SendException):
            connection.create_sender("q").send(Message(body="x" * 1_000_000))


def test_metrics_and_health_say_what_a_broker_is(tmp_path: Path) -> None:
    """Who serves is healthy; its numbers are those of its clients."""
    (port,) = free_ports(1)
    manager = Manager.of(tmp_path, "a", more=f'http = "127.0.0.1:{port}"')
    with running(manager):
        manager.start()
        before = httpx.get(f"http://127.0.0.1:{port}/health")
        manager.promote("a")
        publish(manager.urls(), "1", "2")
        _refused_links(manager.urls())
        after = httpx.get(f"http://127.0.0.1:{port}/health")
        metrics = httpx.get(f"http://127.0.0.1:{port}/metrics").text

    assert (503, "connecting") == (before.status_code, before.text.strip())
    assert (200, "primary") == (after.status_code, after.text.strip())
    for line in ('role{role="primary"} 1.0', "confirmed_total 2.0", "messages 2.0"):
        assert f"joinproto_standby_{line}" in metrics


def test_nothing_confirmed_is_lost_while_the_primary_is_killed_five_times(tmp_path: Path) -> None:
    """Three brokers and a manager's script; a client publishes with confirmation, and consumes.

    `python -m tools.failover` does the same with 100,000 messages.
    """
    found = storm(tmp_path, 3_000, ["fail-over"] * 5, seconds=120)

    assert 5 == len(found["faults"])
    assert (3_000, 3_000) == (found["confirmed"], found["consumed"])
    assert (0, 0) == (found["lost_count"], found["twice_unmarked"])
    assert found["connections_ended"] > 5


def test_messages_of_any_length_are_copied_and_followed(pair: Manager) -> None:
    """H4, H5: 60 KB each, there before the backup; then many of 900 KB at once."""
    pair.kill("b")
    bodies = ["x" * 60_000 for _ in range(100)]
    publish(pair.urls(), *bodies)
    pair.start("b")
    assert pair.until("b", "backup")

    def one_more() -> None:
        publish(pair.urls(), *["y" * 900_000 for _ in range(3)])

    threads = [threading.Thread(target=one_more) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert ["a", "b"] == pair.status("a")["up_to_date"]
    assert {"q": 124} == pair.status("b")["queues"]
