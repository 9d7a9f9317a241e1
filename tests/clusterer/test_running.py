"""Nodes as processes that are formed, killed, cut off, reset and left out by configs alone.

Processes, TCP, disks, kill -9 and cut links are real; the service's data are simulated by a label.
"""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path

import pytest

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.channel import fed, length_of, session_of
from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import AskLock
from joinproto.clusterer.reading import Release
from joinproto.durable.record import opened
from joinproto.host.ports import Channel
from joinproto.net.framing import LENGTH_BYTES
from joinproto.net.refused import Refused
from tests.cli.running import run_here
from tests.cli.schemas import faults
from tools import json_schema as schema
from tools.faults.clusterer import PATIENCE, Fleet

pytestmark = pytest.mark.landing


def config(version: int, nodes: str, gospel: str | None, timeout: int = 300) -> Config:
    return Config(version, frozenset(nodes), gospel=gospel, shutdown_timeout=timeout)


def start(fleet: Fleet, first: Config, names: str = "abc") -> str:
    """Form a cluster; return the label of its data."""
    for name in names:
        fleet.start(name, first if name == names[0] else None)
    fleet.until_ready(names, first.version)
    labels = {fleet.label(name) for name in names}
    assert 1 == len(labels)
    return str(labels.pop())


def labels(fleet: Fleet, names: str = "abc") -> set[str | None]:
    return {fleet.label(name) for name in names}


def test_configs_given_to_one_node_form_grow_and_shrink_a_cluster_that_comes_back(
    fleet: Fleet,
) -> None:
    """U3 to U7: the gospel's data are there at the end; a node that is left out has ended."""
    label = start(fleet, config(1, "ab", "a"), "ab")
    fleet.start("c")
    fleet.until_ready("c", 0)
    own = fleet.label("c")

    assert "beginning transition" == fleet.apply("b", config(2, "abc", "a", 0))
    fleet.until_ready("abc", 2)
    assert own != label
    assert {label} == labels(fleet)
    assert "refused: already applied" == fleet.apply("c", config(2, "abc", "a", 0))
    assert "refused: older than the current config" == fleet.apply("c", config(1, "ab", "a"))

    assert "beginning transition" == fleet.apply("c", config(3, "ac", "c", 0))
    fleet.until_ready("ac", 3)
    fleet.until("b has ended", lambda: not fleet.is_up("b"))
    assert 0 == fleet.stop("b")

    for name in "ac":
        fleet.kill(name)
    for name in "ca":
        fleet.start(name)
    fleet.until_ready("ac", 3)
    assert {label} == labels(fleet, "ac")


def test_a_reset_gospel_with_an_older_config_is_wiped(fleet: Fleet) -> None:
    """U3: the data that the gospel had before the reset survive at the other nodes."""
    label = start(fleet, config(1, "abc", "a"))
    fleet.reset("a")
    fleet.start("a")

    fleet.until_ready("abc", 1)

    assert {label} == labels(fleet)


def test_a_reset_gospel_with_a_younger_config_wipes_the_others(fleet: Fleet) -> None:
    """U3: the gospel means the node after its reset."""
    label = start(fleet, config(1, "abc", "a"))
    fleet.reset("a")
    fleet.start("a", config(2, "abc", "a"))

    fleet.until_ready("abc", 2)

    (found,) = labels(fleet)
    assert found != label
    assert str(found).startswith("a-")


def seen_by(fleet: Fleet, name: str) -> frozenset[str]:
    """Return the nodes that ran, by the file of a running node.

    Only the writer of the file may call `load`, which removes a file that the node may be about to
    rename.
    """
    file = MembersFile(fleet.place(name) / "data")
    with opened(file.files, file.path.parent, file._kind) as record:
        found = record.read().current.contents
    return frozenset() if found is None else frozenset(found.ran)


def test_a_node_that_is_cut_off_waits_and_names_the_others(fleet: Fleet) -> None:
    """U4, U5: after the cut heals, all are ready, with one set of data."""
    label = start(fleet, config(1, "abc", "a"))
    fleet.until("b has seen both run", lambda: seen_by(fleet, "b") == {*"abc"})
    fleet.kill("b")
    fleet.cut("b", "ac")
    fleet.start("b")
    fleet.until(
        "b waits for both", lambda: (fleet.status("b") or {}).get("waits_for") == ["a", "c"]
    )
    assert "beginning transition" == fleet.apply("a", config(2, "abc", None))

    fleet.heal()
    fleet.until_ready("abc", 2)

    (found,) = labels(fleet)
    assert found != label  # gospel reset: the data of no node survive


def proved(link: socket.socket, me: str, *bodies: bytes) -> None:
    """Send these bodies as a node that has proved that it is `me`."""
    session = session_of(me, b"", "a")
    while session.peer is None:
        link.sendall(session.take_out())
        head = link.recv(LENGTH_BYTES, socket.MSG_WAITALL)
        fed(session, link.recv(length_of(head), socket.MSG_WAITALL))
    said = b"".join(session.seal(Channel.HOST.value + body) for body in bodies)
    link.sendall(session.take_out() + said)


def test_a_client_that_is_not_a_node_is_refused_and_disturbs_no_node(fleet: Fleet) -> None:
    """Clients send half a message, another protocol, garbage, no byte, or the node's own name."""
    fleet.start("a")
    fleet.until_ready("a", 0)
    port = fleet.ports["a"]
    hello = wire.hello(wire.Hello(node="b", release=Release.SEED))
    other = wire.hello(wire.Hello(node="c", release=Release.SEED))
    nowhere = wire.Hello(node="d", release=Release.SEED, listen=f"h:{'1' * 5_000}")
    for said in (
        b"GET / HTTP/1.0\r\n\r\n",
        b"\0\0\0\x10half",
        b"\0\0\0\x02{}",
        b'\0\0\0\x08["node"]',
        bytes(range(256)) * 40,
        ("a", hello),
        ("b", other),
        ("d", wire.hello(nowhere)),
        ("b", hello, b'{"kind":9}'),
        ("b", hello, wire.put(AskLock(1)), b"[]"),
    ):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as link:
            link.settimeout(PATIENCE)
            link.sendall(said if isinstance(said, bytes) else b"")
            with suppress(Refused):
                if not isinstance(said, bytes):
                    proved(link, *said)
            link.shutdown(socket.SHUT_WR)
            while link.recv(4096):
                pass
    idle = socket.create_connection(("127.0.0.1", port), 5)

    assert fleet.is_ready("a", 0)
    idle.close()
    out = (fleet.place("a") / "out").read_text()
    assert "Traceback" not in out
    assert "refused" in out
    assert 0 == fleet.stop("a")


def test_apply_asks_before_data_are_lost(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a terminal and --yes, the exit code is 2, and nothing is sent."""
    for name in "ab":
        fleet.start(name)
    fleet.until_ready("ab", 0)
    file = tmp_path / "new.config"
    file.write_text("[{version, 1}, {nodes, [a, b]}, {gospel, {node, a}}, {shutdown_timeout, 9}].")
    words = ("clusterer", "apply", str(file), "--to", str(fleet.ports["a"]))

    refused = run_here(capsys, *words)
    assert 2 == refused.code
    assert "its data are LOST" in refused.out
    assert "the data of b would be lost; nothing was sent" in refused.err
    as_json = run_here(capsys, *words, "--json")
    assert (2, False) == (as_json.code, as_json.object["sent"])
    assert "the data of b would be lost" in as_json.object["error"]
    assert fleet.is_ready("a", 0)

    done = run_here(capsys, *words, "--yes", "--wait", "60", "--json")
    assert 0 == done.code
    assert (["b"], True) == (done.object["plan"]["wiped"], done.object["ready"])
    assert 1 == run_here(capsys, *words, "--yes").code  # already applied
    status = run_here(capsys, "clusterer", "status", "--to", str(fleet.ports["b"]), "--json")
    assert [] == list(faults(status.object, schema.SCHEMAS["clusterer-status"]))
    assert [] == list(faults(done.object, schema.SCHEMAS["applied"]))
    assert ("ready", 1) == (status.object["status"], status.object["version"])


def test_nodes_that_join_at_once_know_each_other_and_a_plan_uses_that(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """U3: b and c join a while they are cut off from each other; then c is named the gospel.

    Otherwise b would not count c as a member, would stop, and would give up acknowledged writes.
    """
    fleet.start("a", config(1, "a", "a"))
    fleet.until_ready("a", 1)
    fleet.cut("b", "c")
    for name in "bc":
        fleet.start(name)
    fleet.until_ready("bc", 0)
    fleet.apply("a", config(2, "abc", "a"))
    fleet.until_ready("abc", 2)
    file = tmp_path / "new.config"
    file.write_text("[{version, 3}, {nodes, [b, c]}, {gospel, {node, c}}, {shutdown_timeout, 9}].")
    to = str(fleet.ports["b"])
    fleet.stop("a")

    unknown = run_here(capsys, "clusterer", "plan", str(file), "--to", to, "--json")
    assert {"a": ("is away", False), "b": ("waits", True), "c": ("is away", False)} == {
        one["name"]: (one["does"], one["at_risk"]) for one in unknown.object["nodes"]
    }
    assert 2 == run_here(capsys, "clusterer", "apply", str(file), "--to", to).code
    fleet.heal()
    fleet.until(
        "b has heard of c", lambda: "{c, <<" in str((fleet.status("b") or {}).get("config"))
    )
    assert fleet.publish("b", "message")
    fleet.stop("c")

    done = run_here(capsys, "clusterer", "apply", str(file), "--to", to)
    assert 0 == done.code
    assert "no answer from a, c: this plan does not know their configs and data" in done.out
    fleet.start("c")
    fleet.until_ready("bc", 3)
    assert "message" in fleet.data("b")


def test_after_a_power_cut_the_node_with_the_most_data_starts_first(tmp_path: Path) -> None:
    """U5: the lists of nodes that ran are equal, but the data differ, so a service that can compare
    them is asked.
    """
    counted = 'kind = "python"\nobject = "tests.clusterer.services:Counted"\n'
    fleet = Fleet(tmp_path, tuple("abc"), service=lambda _: f"[service]\n{counted}")
    with closing(fleet):
        start(fleet, config(1, "abc", "a"))
        fleet.until(
            "each sees all", lambda: all({*"abc"} == seen_by(fleet, name) for name in "abc")
        )
        assert fleet.publish("c", "acknowledged")
        for name in "abc":
            fleet.kill(name)
            fleet.end_broker(name)
        former = fleet.events().keys()
        for name in "abc":
            fleet.start(name)
        fleet.until_ready("abc", 1)

        booted = {
            run.partition("-")[0]: [one["how"] for one in lines if one["kind"] == "booted"]
            for run, lines in fleet.events().items()
            if run not in former
        }
        assert {"a": ["own"], "b": ["own"], "c": ["first"]} == booted


def test_a_node_says_that_the_config_given_at_its_start_is_not_taken(fleet: Fleet) -> None:
    """U1: an operator who changed a config without its version would wait for ever otherwise."""
    start(fleet, config(1, "ab", "a"), "ab")
    for name in "ba":
        fleet.stop(name)
    fleet.start("a", config(1, "ab", "a"))
    fleet.start("b", config(1, "ab", "b"))
    fleet.until_ready("ab", 1)

    assert None is (fleet.status("a") or {})["note"]
    assert "same version, other content" in str((fleet.status("b") or {})["note"])
    refused = [one["why"] for one in chain(*fleet.events().values()) if "given" in one["kind"]]
    assert ["refused: same version, other content"] == refused

    fleet.apply("a", config(2, "ab", "a"))
    fleet.apply("b", config(3, "ab", "a"))
    fleet.until_ready("ab", 3)
    assert None is (fleet.status("b") or {})["note"]


def test_a_node_that_was_not_stopped_in_order_says_so_before_it_boots(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """U5: after a power cut, the lists of nodes that ran do not show which data are the newest."""
    start(fleet, config(1, "ab", "a"), "ab")
    fleet.until("each sees both", lambda: all({*"ab"} == seen_by(fleet, name) for name in "ab"))
    for name in "ab":
        fleet.kill(name)
    fleet.start("a")
    fleet.until("a waits for b", lambda: (fleet.status("a") or {}).get("waits_for") == ["b"])

    assert "not stopped in order" in str((fleet.status("a") or {})["note"])
    told = run_here(capsys, "clusterer", "status", "--to", str(fleet.ports["a"]))
    assert "recover pick" in told.out
    fleet.start("b")
    fleet.until_ready("ab", 1)
    assert {None} == {(fleet.status(name) or {})["note"] for name in "ab"}

    for name in "ab":
        fleet.stop(name)
    fleet.start("a")
    fleet.until("a has started", lambda: "rejoin" in str((fleet.status("a") or {}).get("status")))
    assert None is (fleet.status("a") or {})["note"]
