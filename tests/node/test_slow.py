"""A slow client, or one that stops half-way, costs a node little and delays no other client."""

from __future__ import annotations

import resource
import signal
import socket
import time
import urllib.request
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tools.faults.clients import Connection, Ledger, Writers
from tools.faults.nodes import Fleet, Node, until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.soak("nodes")
Make = Callable[..., Fleet]

READERS = 400
FRAMES = 300
FRAME_BYTES = 20_000
GROWTH_MAX = 64 * 2**20
STALL_MAX = 3.0
END_MAX = 5.0


def memory(node: Node) -> int:
    """Return the bytes of memory that the process has now."""
    assert node.process is not None
    pages = Path(f"/proc/{node.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def with_http(three: Fleet, name: str) -> int:
    (port,) = free_ports(1)
    config = three[name].config
    config.write_text(f'http = "127.0.0.1:{port}"\n' + config.read_text())
    return port


def half_open(port: int) -> socket.socket:
    """Return a connection that has begun a request, and then stays silent."""
    link = socket.create_connection(("127.0.0.1", port), 5)
    link.sendall(b"GET /hea")
    return link


def health(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
        return int(answer.status)


@pytest.mark.needs("/proc")
def test_400_slow_readers_and_a_half_open_connection_delay_no_other_client(fleet: Make) -> None:
    """Commits continue, memory is bounded, and SIGTERM ends the process in time."""
    three = fleet(events=None)
    port = with_http(three, "a")
    three.start()
    three.wait_active()
    writer = Connection(three["a"].clients)
    for number in range(FRAMES):
        assert writer.ask(f"append {number} {'x' * FRAME_BYTES}").startswith(b"ok")
    assert len(writer.read_all() or ()) == FRAMES  # memory needed once is not growth
    writer.close()
    before = memory(three["a"])
    address = (three["a"].clients.host, three["a"].clients.port)
    slow: list[socket.socket] = []
    ledger = Ledger()
    writers = Writers([three["a"].clients], ledger, count=1)
    until(lambda: len(ledger.acknowledged) > 10)
    with half_open(port):
        for _ in range(READERS):
            link = socket.create_connection(address, 10)
            link.sendall(b"read\n")
            slow.append(link)
        most = 0
        end = time.monotonic() + 6.0
        while time.monotonic() < end:
            most = max(most, memory(three["a"]))
            assert 200 == health(port)
            time.sleep(0.1)
        writers.stop()
        times = ledger.times
        longest = max(later - earlier for earlier, later in pairwise(times))
        assert not ledger.refused | ledger.open
        assert longest < STALL_MAX
        assert times[-1] > end - STALL_MAX
        assert most - before < GROWTH_MAX

        began = time.monotonic()
        three["a"].signal(signal.SIGTERM)
        assert 0 == three["a"].wait()
        assert time.monotonic() - began < END_MAX
    for link in slow:
        link.close()


def test_a_failed_member_ends_with_its_code_despite_a_half_open_client(fleet: Make) -> None:
    """The disk is full, so the code is 4."""
    three = fleet(events=None)
    port = with_http(three, "a")
    three.start()
    three.wait_active()
    with half_open(port):
        assert 200 == health(port)
        three["a"].fill_disk(40_000)
        connection = Connection(three["a"].clients)
        connection.ask(f"append {'x' * 60_000}")
        connection.close()

        assert 4 == three["a"].wait(10)
