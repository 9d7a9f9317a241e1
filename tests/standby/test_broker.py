"""Brokers as processes with Proton's client: confirmation, refusal, durability and failover.

Source: hot standby, H2 to H4, H8, H10, H11.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from proton import ConnectionException, Message, symbol
from proton.utils import LinkDetached, SendException

from tests.cli.running import run_here
from tests.standby.clients import connected, consume, publish
from tools.failover.manager import Manager, running
from tools.failover.storm import Brokers
from tools.faults.ports import free_ports
from tools.faults.storm import Storm

pytestmark = pytest.mark.soak("brokers")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Manager]:
    """Give a primary `a`, and a backup `b` that is up to date."""
    # The silence is so long that a stopped backup still counts in every test on a loaded machine.
    manager = Manager.of(tmp_path, "ab", more='events = "events"', tables="silence = 60.0\n")
    with running(manager):
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.wait_role("b", "backup")
        yield manager


def test_a_confirmed_message_is_there_when_another_broker_takes_over(pair: Manager) -> None:
    """H4: also without durability; the message is marked, as a client may have had it before."""
    publish(pair.urls(), "1", "2", "3")
    publish(pair.urls(), "only in memory", durable=False)
    assert [("1", False)] == consume(pair.urls(), 1)
    # The client does not wait until its acknowledgement is confirmed.
    assert pair.agent("b")._until(lambda: pair.status("b").get("queues") == {"q": 3})
    pair.kill("a")

    assert "b" == pair.promote("b")

    found = consume(pair.urls(), 3)
    assert [("2", True), ("3", True), ("only in memory", True)] == found
    assert 2 == pair.status("b")["generation"]


def test_a_backup_refuses_clients_and_names_the_primarys_address(pair: Manager) -> None:
    """H11: only a client that asks for it is told; an administrator is admitted."""
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


def test_the_commands_show_and_change_a_running_broker(
    pair: Manager, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The commands are status, promote, set and demote."""
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


def test_an_administrator_does_not_wait_for_a_broker_that_no_longer_serves(pair: Manager) -> None:
    """The broker no longer confirms messages, so this connection ends like all others."""
    pid = pair.agent("b")._pid()
    assert pid is not None
    admin = {symbol("qpid.ha-admin"): 1}
    with connected(pair.urls()[:1], properties=admin) as connection:
        sender = connection.create_sender("q")
        os.kill(pid, signal.SIGSTOP)
        try:
            threading.Timer(0.5, pair.call, ("a", "demote")).start()
            with pytest.raises(ConnectionException):
                # Less than the silence after which the backup would not count any more.
                sender.send(Message(body="1", durable=True), timeout=50)
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_far_too_long_message_does_not_fill_the_memory(pair: Manager) -> None:
    """The message is refused before it is complete."""
    with pytest.raises(ConnectionException), connected(pair.urls()[:1]) as connection:
        connection.create_sender("q").send(Message(body="x" * 80_000_000))

    status = Path(f"/proc/{pair.agent('a')._pid()}/status").read_text()
    most = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(most.split()[1]) < 80_000
    publish(pair.urls(), "1")


def _refused_links(urls: list[str]) -> None:
    """Assert that an impossible link is refused with the reason, and ends nothing else."""
    with connected(urls) as connection:
        with pytest.raises(LinkDetached, match="printable characters"):
            connection.create_sender("q" * 300)
        with pytest.raises(LinkDetached, match="the link has no address"):
            connection.create_receiver(None)
        with pytest.raises(SendException):
            connection.create_sender("q").send(Message(body="x" * 1_000_000))


def test_metrics_and_health_show_a_brokers_role(tmp_path: Path) -> None:
    """A serving broker is healthy, and its metrics have its clients' numbers."""
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


def test_no_confirmed_message_is_lost_while_the_primary_is_killed_five_times(
    tmp_path: Path,
) -> None:
    """Three brokers and a manager's script; a client publishes with confirmation, and consumes.

    `tools/torture --system standby` does the same for minutes, with all kinds of faults.
    """
    brokers = Brokers.make(tmp_path, "abc", built_in=False)
    try:
        found = Storm(brokers, 0).run(kinds=["fail_over"] * 5)
    finally:
        brokers.close()

    assert () == found.problems
    assert found.facts["confirmed"] == found.facts["consumed"] > 2_000
    assert found.facts["connections_ended"] > 5
