"""A real broker around a member: amqtt as a process, and clients from other projects."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_apart, run_here
from tools.faults.nodes import ROOT, Fleet, Node, until
from tools.faults.ports import free_ports
from tools.faults.recovering import recover

paho = pytest.importorskip("paho.mqtt.client", reason="needs paho-mqtt")
pytest.importorskip("amqtt", reason="needs the extra amqtt")
pytestmark = pytest.mark.soak("nodes")

SECONDS = 120


class BrokerNode(Node):
    """A node that speaks MQTT to its clients."""

    def start(self) -> None:
        program = ROOT / "docs" / "examples" / "mqtt_broker.py"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(program), str(self.config)], stdout=log, stderr=log
            )


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet.make(tmp_path, "abc", tables="[timing]\nsilence = 1.0\nheartbeat = 0.2")
    for name, node in fleet.nodes.items():
        fleet.nodes[name] = BrokerNode(name, node.top, node.port, node.clients, node.network)
    yield fleet
    fleet.close()


def is_open(node: Node) -> bool:
    try:
        socket.create_connection((node.clients.host, node.clients.port), 1).close()
    except OSError:
        return False
    return True


def wait_open(fleet: Fleet, names: str = "abc") -> None:
    until(lambda: all(is_open(fleet[name]) for name in names), SECONDS, fleet.said)


class Client:
    """A paho client, with its messages, and whether it is connected."""

    def __init__(self, node: Node) -> None:
        self.heard: dict[str, bytes] = {}
        self.gone = threading.Event()
        self.here = threading.Event()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._on_message
        self.client.on_disconnect = lambda *_: self.gone.set()
        self.client.on_connect = lambda *_: self.here.set()
        self.client.connect(node.clients.host, node.clients.port)
        self.client.loop_start()
        assert self.here.wait(SECONDS)

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        self.heard[message.topic] = message.payload

    def retain(self, topic: str, text: bytes) -> None:
        """Publish a retained message, and return when the broker has answered."""
        info = self.client.publish(topic, text, qos=1, retain=True)
        info.wait_for_publish(SECONDS)
        assert info.is_published()

    def wait_for(self, topic: str, text: bytes) -> None:
        self.client.subscribe(topic, qos=1)
        until(lambda: self.heard.get(topic) == text, SECONDS)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@pytest.fixture
def client() -> Iterator[Callable[[Node], Client]]:
    made: list[Client] = []

    def make(node: Node) -> Client:
        made.append(Client(node))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_no_client_is_served_before_all_founders_have_started(three: Fleet) -> None:
    """The port is closed, not only silent."""
    three.start("ab")
    until(lambda: three["a"].data.exists() and three["b"].data.exists())
    assert not is_open(three["a"])
    assert not is_open(three["b"])

    three.start("c")

    wait_open(three)


def test_a_retained_message_is_at_every_member(
    three: Fleet, client: Callable[[Node], Client]
) -> None:
    """Clients that subscribed earlier get it, and members that join later have it."""
    three.start()
    wait_open(three)
    reader = client(three["c"])
    reader.client.subscribe("lamp", qos=1)
    writer = client(three["a"])

    writer.retain("lamp", b"on")

    until(lambda: reader.heard.get("lamp") == b"on", SECONDS)
    client(three["b"]).wait_for("lamp", b"on")
    three["b"].kill()
    shutil.rmtree(three["b"].data)
    until(lambda: _retained(client, three["a"], "lamp", b"off"), SECONDS)
    three["b"].start()
    wait_open(three)
    client(three["b"]).wait_for("lamp", b"off")


def test_an_empty_message_removes_the_retained_message(
    three: Fleet, client: Callable[[Node], Client]
) -> None:
    three.start()
    wait_open(three)
    writer = client(three["a"])
    writer.retain("lamp", b"on")
    writer.retain("door", b"shut")
    writer.retain("lamp", b"")

    reader = client(three["c"])
    reader.client.subscribe("#", qos=1)
    until(lambda: "door" in reader.heard, SECONDS)
    time.sleep(0.5)  # retained messages arrive in any order

    # The writer is answered when every member has the removal, not when each has done it: a client
    # that subscribes meanwhile receives the removal, as any message.
    until(lambda: {topic for topic, text in reader.heard.items() if text} == {"door"}, SECONDS)


def test_a_suspended_member_cuts_its_clients_off(
    three: Fleet, client: Callable[[Node], Client]
) -> None:
    three.start()
    wait_open(three)
    alone = client(three["a"])
    other = client(three["b"])

    three.network.isolate(["a"])

    assert alone.gone.wait(SECONDS)
    until(lambda: not is_open(three["a"]), SECONDS)
    until(lambda: _retained(client, three["b"], "lamp", b"without a"), SECONDS)
    three.network.heal()
    wait_open(three)
    client(three["a"]).wait_for("lamp", b"without a")
    other.close()


def test_a_packet_of_256_mb_ends_its_client_and_no_other(
    three: Fleet, client: Callable[[Node], Client]
) -> None:
    """MQTT allows such packets, and amqtt reads whole packets into memory."""
    three.start()
    wait_open(three)
    other = client(three["a"])
    with socket.create_connection((three["a"].clients.host, three["a"].clients.port), 30) as raw:
        raw.sendall(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01x")
        assert b"\x20\x02\x00\x00" == raw.recv(4)

        raw.sendall(b"\x30\xff\xff\xff\x7f\x00\x01t")

        with suppress(ConnectionResetError):
            assert b"" == raw.recv(1)
    other.client.publish("t", b"1", qos=1, retain=True).wait_for_publish(SECONDS)
    assert not other.gone.is_set()


def test_an_abort_stops_the_broker(three: Fleet) -> None:
    """I2: options differ; the process ends and says so, although amqtt ignores exceptions."""
    three["c"].config.write_text(three["c"].config.read_text() + "\n[options]\nx = 1\n")

    three.start()

    assert [5, 5, 5] == [three[name].wait() for name in "abc"]
    assert "options-differ" in three["a"].said()
    assert not any(is_open(three[name]) for name in "abc")


@pytest.mark.needs("mosquitto_sub")
def test_a_retained_message_outlives_a_total_failure(three: Fleet) -> None:
    """All brokers are killed, recovered and started again; a client of each reads the message."""
    three.start()
    wait_open(three)
    said = ["-h", "127.0.0.1", "-p", str(three["a"].clients.port), "-t", "lamp", "-q", "1"]
    subprocess.run(["mosquitto_pub", *said, "-r", "-m", "on"], check=True, timeout=SECONDS)
    for name in "abc":
        three[name].kill()

    assert recover(three, "1") in ("proven", "tie")
    three.start()
    wait_open(three)

    for name in "abc":
        asked = ["-h", "127.0.0.1", "-p", str(three[name].clients.port), "-t", "lamp", "-C", "1"]
        heard = subprocess.run(
            ["mosquitto_sub", *asked], check=True, timeout=SECONDS, capture_output=True
        )
        assert b"on\n" == heard.stdout


def test_sigint_ends_the_broker(three: Fleet) -> None:
    three.start("a")
    until(lambda: three["a"].status() != {})

    three["a"].signal(signal.SIGINT)

    assert 0 == three["a"].wait()


def test_status_health_and_shutdown_work_as_for_any_node(
    three: Fleet, client: Callable[[Node], Client], capsys: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    config = three["a"].config
    config.write_text(f'http = "127.0.0.1:{port}"\n' + config.read_text())
    three.start()
    wait_open(three)
    client(three["a"]).retain("lamp", b"on")

    said = run_here(capsys, "status", "--config", str(three["b"].config))
    configs = [word for name in "abc" for word in ("--config", str(three[name].config))]
    verified = run_apart("recover", "verify", *configs)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        assert (200, b"active\n") == (answer.status, answer.read())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read()
    asked = run_here(capsys, "shutdown", "--config", str(three["c"].config))

    assert (0, True) == (said.code, "active, serves clients" in said.out)
    assert 0 == verified.code, verified.out + verified.err
    assert b"joinproto_acknowledged_total 1.0" in text
    assert b"joinproto_clients 1.0" in text
    assert 0 == asked.code
    assert [0, 0, 0] == [three[name].wait() for name in "abc"]


def test_brokers_that_are_stopped_one_after_another_come_back_by_themselves(
    three: Fleet, client: Callable[[Node], Client]
) -> None:
    three.start()
    wait_open(three)
    client(three["a"]).retain("lamp", b"on")
    for name in "abc":
        three[name].signal(signal.SIGTERM)
        assert 0 == three[name].wait()

    three.start("cab")

    wait_open(three)
    client(three["b"]).wait_for("lamp", b"on")


def _retained(client: Callable[[Node], Client], node: Node, topic: str, text: bytes) -> bool:
    """Return whether a new client could retain this message; the view may be changing."""
    try:
        client(node).retain(topic, text)
    except (AssertionError, OSError, RuntimeError, ValueError):
        return False
    return True
