"""One process, as an operator sees it: commands, exit codes, security, metrics."""

from __future__ import annotations

import shutil
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from tests.cli.running import run_here
from tests.cli.schemas import faults, unexplained
from tools import json_schema as schema
from tools.faults.clients import Connection
from tools.faults.nodes import Fleet, until
from tools.faults.ports import free_ports

Make = Callable[..., Fleet]


@pytest.mark.landing
def test_status_reports_a_node_and_shutdown_ends_all_nodes(
    fleet: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    three = fleet()
    three.start()
    three.wait_active()

    text = run_here(capsys, "status", "--config", str(three["b"].config))
    found = run_here(capsys, "status", "--json", "--config", str(three["a"].config)).object
    asked = run_here(capsys, "shutdown", "--config", str(three["c"].config))

    assert (0, 0) == (text.code, asked.code)
    assert [] == [*faults(found, schema.STATUS), *unexplained(found, schema.STATUS)]
    assert "phase   active, serves clients" in text.out
    assert "FOUND" in text.out
    assert ("active", True, True, "dirty") == (
        found["phase"],
        found["serves"],
        found["is_sequencer"],
        found["store"],
    )
    assert [0, 0, 0] == [three[name].wait() for name in "abc"]
    gone = run_here(capsys, "status", "--config", str(three["b"].config))
    assert (4, True) == (gone.code, "no node answers" in gone.err)


@pytest.mark.soak("nodes")
def test_after_a_total_failure_the_exit_code_means_recover_first(fleet: Make) -> None:
    """I6: `timing.wait` limits the wait for a clean store."""
    three = fleet(tables="[timing]\nwait = 6.0")
    three.start()
    three.wait_active()
    for name in "abc":
        three[name].kill()

    three.start()

    codes = [three[name].wait() for name in "abc"]
    # Only a member that has asked the others knows why they wait.
    assert 6 in codes
    assert {3, 6} >= set(codes)
    assert "joinproto recover pick" in "".join(three[name].said() for name in "abc")


@pytest.mark.landing
def test_the_exit_code_of_a_lone_node_means_try_again(fleet: Make) -> None:
    three = fleet(tables="[timing]\nwait = 0.5")
    three["a"].start()

    assert 3 == three["a"].wait()
    assert "not active after 0.5 s: initializing" in three["a"].said()


@pytest.mark.landing
def test_an_address_in_use_has_the_exit_code_of_the_machine(fleet: Make) -> None:
    three = fleet()
    with socket.create_server(("127.0.0.1", three["b"].port)):
        three["b"].start()

        assert 4 == three["b"].wait()
    assert "cannot listen on" in three["b"].said()


@pytest.mark.landing
def test_a_store_of_another_member_is_refused(fleet: Make) -> None:
    three = fleet()
    three["a"].start()
    until(lambda: three["a"].status() != {})
    three["a"].kill()
    shutil.copytree(three["a"].data, three["b"].data)

    three["b"].start()

    assert 5 == three["b"].wait()
    assert "this is the store of member 'a', expected 'b'" in three["b"].said()


@pytest.mark.landing
def test_a_damaged_journal_is_refused(fleet: Make) -> None:
    three = fleet()
    three.start()
    three.wait_active()
    connection = Connection(three["a"].clients)
    for number in range(3):
        assert connection.ask(f"append {number}").startswith(b"ok")
    connection.close()
    three["b"].kill()
    with (three["b"].data / "frames.log").open("r+b") as file:
        file.seek(20)
        file.write(b"damage")

    three["b"].start()

    assert 5 == three["b"].wait()
    assert "a later frame calls durable" in three["b"].said()


@pytest.mark.landing
def test_nodes_with_certificates_form_a_cluster(fleet: Make, tmp_path: Path) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    three = fleet()
    for name, node in three.nodes.items():
        issued = ca.issue_cert(name)
        issued.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
        issued.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.pem"))
        lines = ["[security]", f'ca = "{tmp_path / "ca.pem"}"']
        lines += [f'certificate = "{tmp_path / name}.pem"', f'key = "{tmp_path / name}.key"']
        node.config.write_text(node.config.read_text() + "\n".join([*lines, ""]))

    three.start()
    three.wait_active()

    connection = Connection(three["c"].clients)
    assert b"ok 1" == connection.ask("append over TLS")
    connection.close()


@pytest.mark.landing
def test_a_node_answers_requests_for_its_health(fleet: Make) -> None:
    (port,) = free_ports(1)
    three = fleet()
    config = three["a"].config
    config.write_text(f'http = "127.0.0.1:{port}"\n' + config.read_text())
    three.start()
    three.wait_active()

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        assert (200, b"active\n") == (answer.status, answer.read())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert b"joinproto_view_members 3.0" in answer.read()
