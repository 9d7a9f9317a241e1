"""Brokers as processes on a failing machine: a disk that hangs, no file descriptor left.

Source: hot standby, H4, H8.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from proton import Message

from tests.standby.clients import connected, consume, publish
from tools.failover.manager import Manager, running

pytestmark = pytest.mark.soak("brokers")

HANGS = """
import os, time
for name in ("fsync", "fdatasync"):
    def sync(file, name=name, sync=getattr(os, name)):
        if os.path.exists({flag!r}):
            time.sleep(5)
        sync(file)
    setattr(os, name, sync)
"""
"""Code that Python runs at its start: a sync takes five seconds while a file exists."""


def test_a_disk_that_takes_five_seconds_delays_answers_but_drops_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H4: a session ends after three seconds of silence, but no broker falls silent."""
    flag = tmp_path / "slow"
    (tmp_path / "sitecustomize.py").write_text(HANGS.format(flag=str(flag)))
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with running(Manager.of(tmp_path, "abc", tables="silence = 3.0\n")) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        publish(manager.urls(), "1")
        assert manager.wait_view("a", "abc")
        flag.touch()
        began = time.monotonic()

        publish(manager.urls(), "2")

        assert time.monotonic() - began > 5
        assert ["a", "b", "c"] == manager.status("a")["up_to_date"]
        assert ["b", "c"] == manager.status("a")["peers"]
        flag.unlink()
        assert ["1", "2"] == [body for body, _ in consume(manager.urls(), 2)]


@contextmanager
def files_max(count: int) -> Iterator[None]:
    """Limit the open files of processes that are started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


IDLE = """
import socket, sys
def call():
    made = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
    return made
idle = [call() for _ in range(2_000)]
print("there", flush=True)
sys.stdin.read()
print(sum(one.recv(100) == b"" for one in idle))
"""
"""Opens connections and sends nothing; then prints how many were ended."""


def test_two_thousand_idle_connections_stop_neither_status_nor_publishing(tmp_path: Path) -> None:
    """Each process has at most 1,000 files: a silent client is ended to make room for
    another client.
    """
    with running(Manager.of(tmp_path, "ab")) as manager, ExitStack() as stack:
        with files_max(1_000):
            manager.start()
        assert "a" == manager.promote("a")
        assert manager.wait_view("a", "ab")
        host, _, port = manager.url("a").rpartition(":")
        with connected(manager.urls()) as connection:
            sender = connection.create_sender("q")
            idle = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", IDLE, host, port],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            assert idle.stdout is not None
            assert b"there\n" == idle.stdout.readline()

            sender.send(Message(body="1", durable=True))
            assert "primary" == manager.status("a")["role"]
            publish(manager.urls(), "2")
            assert ["a", "b"] == manager.status("a")["up_to_date"]

        said, _ = idle.communicate()
        assert b"2000\n" == said
        publish(manager.urls(), "3")
        assert ["1", "2", "3"] == [body for body, _ in consume(manager.urls(), 3)]
