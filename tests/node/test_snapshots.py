"""Processes that make snapshots and drop frames by themselves, and are killed all the time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import sleep

import pytest

from joinproto.durable.journal.journal import Journal
from joinproto.log.snapshot import FILE as SNAPSHOT
from tests.cli.running import run_here
from tools.bench.restart import cost
from tools.faults.clients import Connection
from tools.faults.nodes import Fleet, until

TABLES = "[log]\nsnapshot_every = 40\nkeep_frames = 60\n"


def write_until(fleet: Fleet, name: str, over: threading.Event, sure: dict[int, str]) -> None:
    """Write until `over` is set, and put acknowledged writes into `sure`."""
    count = 0
    while not over.is_set():
        connection = Connection(fleet[name].clients)
        while not over.is_set():
            count += 1
            text = f"{name}-{threading.get_ident()}-{count}"
            answer = connection.ask(f"append {text}").split()
            if answer[:1] != [b"ok"]:
                break
            sure[int(answer[1])] = text
        connection.close()
        sleep(0.1)


def read(fleet: Fleet, name: str) -> dict[int, str]:
    """Return the readable entries, by number."""
    where = fleet[name].clients
    with socket.create_connection((where.host, where.port), 30) as link:
        link.sendall(b"read\n")
        shown: dict[int, str] = {}
        with link.makefile("rb") as lines:
            for line in lines:
                seq, _, text = line.decode().strip().partition(" ")
                if seq == "end":
                    break
                shown[int(seq)] = text
    return shown


@pytest.mark.soak("nodes")
def test_nodes_that_drop_frames_are_killed_repeatedly_and_lose_no_frame(
    fleet: Callable[..., Fleet], capsys: pytest.CaptureFixture[str]
) -> None:
    """At least one node gets a base from another node."""
    three = fleet(tables=TABLES)
    three.start()
    three.wait_active()
    over, sure, chance = threading.Event(), dict[int, str](), Random(5)
    writers = [
        threading.Thread(target=write_until, args=(three, name, over, sure), daemon=True)
        for name in "abcabc"
    ]
    for one in writers:
        one.start()
    based = 0
    for _ in range(6):
        victim = chance.choice("abc")
        sleep(chance.uniform(0.2, 1.5))
        three[victim].kill()
        others = [name for name in "abc" if name != victim]
        three.wait_active(others)
        before = len(sure)
        until(lambda before=before: len(sure) > before + 250, 60)  # type: ignore[misc]
        three[victim].start()
        three.wait_active()
    over.set()
    for one in writers:
        one.join()

    shown = read(three, "a")
    first = min(shown)
    wrong = sum(shown.get(seq) != text for seq, text in sure.items() if seq >= first)
    for name in "abc":
        three[name].kill()
    assert first > 500
    assert 0 == wrong
    for name in "abc":
        journal = Journal.open(three[name].data)
        based += "based" in "".join(
            path.read_text() for path in three.top.glob(f"events/{name}-*.jsonl")
        )
        assert journal.first_seq > 500
        assert (three[name].data / SNAPSHOT).exists()
        journal.close()
    assert based
    done = run_here(capsys, "validate", str(three.top / "events"))
    assert 0 == done.code, done.out + done.err


@pytest.mark.soak("nodes")
def test_a_restart_with_300_000_frames_takes_at_most_3_s_more_than_one_without(
    tmp_path: Path,
) -> None:
    """The node has the index and the snapshot that it made at its first start."""
    found = cost(frames=300_000, restarts=1)

    assert found.restart_seconds < found.empty_seconds + 3
