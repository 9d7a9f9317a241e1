"""Real processes that are killed while they write, or that open one store at the same time."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from joinproto.durable import lock
from joinproto.durable.lock import LOCK, PAUSE_SECONDS, TRIES, LockState
from joinproto.errors import MisuseError, StoreInUse, StoreWriteFailed
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import FOLDER
from tests.store.inspection import inspect
from tests.store.records import life
from tests.store.writer import number_of

REPOSITORY = Path(__file__).resolve().parents[2]
LIFE = life()


def start_writer(path: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Start a process that writes to the store in `path`."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer", str(path), *words],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    )


def kill_writer(process: "subprocess.Popen[bytes]", said: bytes) -> int:
    """Kill a writer that has printed the line `said`; return the last number that it printed."""
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate()
    # The last line may be cut off.  Its record is on the disk, but the line does not count.
    lines = (said + out).rpartition(b"\n")[0].split()
    return int(lines[-1])


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.soak("stores"))])
def test_a_killed_writer_leaves_the_last_record_or_the_next(tmp_path: Path, rounds: int) -> None:
    """After each kill -9, the store has either the old record or the new one."""
    chance = Random(rounds)
    for _ in range(rounds):
        process = start_writer(tmp_path)
        assert process.stdout is not None
        said = process.stdout.readline()
        time.sleep(chance.random() * 0.1)
        last = kill_writer(process, said)

        with open_store(tmp_path) as store:
            assert number_of(store.record) in (last, last + 1)
            assert () == store.problems


def test_a_store_is_open_in_one_process_only(tmp_path: Path) -> None:
    """A running process is named; a dead one's store is free, although its lock file stays."""
    process = start_writer(tmp_path, "0")
    process.communicate()
    stale = (tmp_path / FOLDER / LOCK).read_text()
    assert f"pid {process.pid}\n" in stale
    assert LockState.FREE is inspect(tmp_path).lock.state

    process = start_writer(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(StoreInUse, match=rf"in use by process {process.pid} on host \S+ \(boot"):
        open_store(tmp_path)
    with pytest.raises(StoreInUse):
        create_store(tmp_path, LIFE[0], member="a")
    seen = inspect(tmp_path)
    assert LockState.HELD is seen.lock.state
    assert seen.lock.holder is not None
    assert str(process.pid) == seen.lock.holder.pid
    # While a process writes, an inspection finds no damage and no stale record.
    for _ in range(100):
        assert () == inspect(tmp_path).problems
    kill_writer(process, b"0\n")

    with open_store(tmp_path):
        assert f"pid {os.getpid()}\n" in (tmp_path / FOLDER / LOCK).read_text()


def test_a_second_opening_in_the_same_process_is_refused(tmp_path: Path) -> None:
    """Two members on one store would have one identity, even in one process."""
    with (
        create_store(tmp_path, LIFE[0], member="a"),
        pytest.raises(StoreInUse, match=f"process {os.getpid()}"),
    ):
        open_store(tmp_path)

    open_store(tmp_path).close()


def test_an_opening_waits_for_a_reader_that_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inspection holds the lock for a moment, so the opening tries again."""
    create_store(tmp_path, LIFE[0], member="a").close()
    pauses: list[float] = []
    with (tmp_path / FOLDER / LOCK).open() as looking:
        # The lock belongs to the open file, so this lock acts like one of another process.
        fcntl.flock(looking, fcntl.LOCK_SH)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == TRIES - 1:
                fcntl.flock(looking, fcntl.LOCK_UN)

        monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=pause))

        open_store(tmp_path).close()

    assert [PAUSE_SECONDS] * (TRIES - 1) == pauses


def test_a_child_process_cannot_write_to_the_store_of_its_parent(tmp_path: Path) -> None:
    """After a fork both processes hold the lock, because the kernel sees one open file."""
    with create_store(tmp_path, LIFE[0], member="a") as store:
        child = os.fork()
        if child == 0:
            try:
                store.write(LIFE[1])
            except MisuseError:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(child, 0)

    assert 7 == os.waitstatus_to_exitcode(status)


def test_a_store_whose_lock_file_was_removed_refuses_writes(tmp_path: Path) -> None:
    """Otherwise the next process locks a new file, and two members write to one store."""
    with create_store(tmp_path, LIFE[0], member="a") as store:
        (tmp_path / FOLDER / LOCK).unlink()
        with open_store(tmp_path) as other:
            with pytest.raises(StoreInUse, match=f"never remove {LOCK}"):
                store.write(LIFE[1])
            other.write(LIFE[1])
        with pytest.raises(StoreWriteFailed, match="writes no more"):
            store.write(LIFE[1])
