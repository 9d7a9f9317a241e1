"""After 50,000 hostile connections and frames the member serves, and has not grown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import pytest

from tools.faults.clients import Ledger, Writers
from tools.faults.hostile import HostilePeer
from tools.faults.nodes import Fleet, Node, until

pytestmark = pytest.mark.soak("nodes")

WANTED = 50_000
ATTACKERS = 8
GROWTH_MAX = 32 * 2**20
SECONDS = 60  # until the node has as many open files as before


def memory(node: Node) -> int:
    """Return the bytes of memory that the process has now."""
    assert node.process is not None
    pages = Path(f"/proc/{node.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4_096


def files(node: Node) -> int:
    assert node.process is not None
    return len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))


def attack(attackers: list[HostilePeer], wanted: int) -> None:
    """Attack with all attackers at once, until they have sent this many attacks."""

    def storm(one: HostilePeer) -> None:
        while one.sent < wanted / len(attackers):
            one.attack()

    threads = [threading.Thread(target=storm, args=(one,)) for one in attackers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.needs("/proc")
def test_a_flood_of_hostile_peers_does_not_disturb_the_cluster(
    fleet: Callable[..., Fleet], tmp_path: Path
) -> None:
    secret = token_hex(32)
    (tmp_path / "secret").write_text(secret)
    three = fleet(tables=f'[security]\nsecret_file = "{tmp_path / "secret"}"', events=None)
    three.start()
    three.wait_active()
    node = three["a"]
    attackers = [
        HostilePeer(node.port, "a", "cluster", secret.encode(), seed) for seed in range(ATTACKERS)
    ]
    attack(attackers, 2_000)  # memory that a process needs once is not growth
    until(lambda: node.status()["serves"])
    ledger = Ledger()
    writers = Writers([three["b"].clients], ledger, count=1)
    until(lambda: len(ledger.acknowledged) > 5)
    before, opened, view = memory(node), files(node), node.status()["view"]["id"]
    count = len(ledger.acknowledged)

    for one in attackers:
        one.sent = 0
    attack(attackers, WANTED)

    assert sum(one.sent for one in attackers) >= WANTED
    assert all(one.proved for one in attackers)
    until(lambda: files(node) <= opened, SECONDS)
    assert memory(node) - before < GROWTH_MAX
    until(lambda: len(ledger.acknowledged) > count + 100)
    writers.stop()
    assert not ledger.refused | ledger.open, "a write was refused, or has no answer"
    status = node.status()
    assert (view, True) == (status["view"]["id"], status["serves"])
    assert "more connections" in node.said(), "a flood is counted, not written out"
    assert node.log.stat().st_size < 2**20
