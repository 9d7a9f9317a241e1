"""The lock: one process at a time has a store, or a record, open for writing.

The lock is a separate file, because each write replaces the record's file.  The kernel holds the
lock (`flock`) and releases it when the process ends, so there are no stale locks.  The text in the
file is for messages only.  The file is never removed: a process that waits for the lock of a
removed file would get a lock that no other process sees.
"""

from __future__ import annotations

import os
import platform
import time
from enum import Enum
from pathlib import Path

from attrs import frozen

from joinproto.codec.malformed import FORBIDDEN
from joinproto.durable.filesystem import FileSystem, let_go, read_all, write_all
from joinproto.errors import StoreInUse

LOCK = "store.lock"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HOLDER_BYTES_MAX = 1_000

TRIES, PAUSE_SECONDS = 5, 0.02
"""A process that inspects a store holds the lock for a moment, so `take_lock` tries again."""


class LockState(Enum):
    """Whether a process has the store open."""

    FREE = "free"
    HELD = "held"
    UNKNOWN = "unknown"  # the lock file cannot be opened or locked from here


@frozen
class Holder:
    """The process that took the lock last, according to the lock file; a missing fact is ""."""

    pid: str = ""
    host: str = ""
    boot_id: str = ""

    def __str__(self) -> str:
        if self == Holder():
            return "an unknown process (the lock file does not name it)"
        return f"process {self.pid} on host {self.host} (boot {self.boot_id[:8]})"


@frozen
class LockReport:
    """Whether the lock is held, and by which process.

    `problem`, `errno`: why this is unknown, "" and None if it is known.
    """

    state: LockState
    holder: Holder | None = None
    problem: str = ""
    errno: int | None = None


def take_lock(files: FileSystem, folder: int, path: Path, name: str = LOCK) -> int:
    """Lock the file `name` in the open directory `folder`, and return it open.

    `path`: the directory that the lock protects, for messages.  Raises `StoreInUse`, or `OSError`.
    """
    file = files.open_to_update(folder, name, 0o644)
    try:
        if not _locked(files, file):
            raise StoreInUse(
                f"{path}: in use by {_holder(files, file)}, but only one process may write here"
                "\n  nothing was changed",
                next="stop that process, then start this one again",
            )
        if not files.is_same(folder, name, file):
            raise StoreInUse(
                f"{path}: {name} was replaced while it was being locked",
                next=f"start the process again, and never remove {name}",
            )
        files.truncate(file)
        write_all(files, file, _encoded(_this_process()))
    except BaseException:
        let_go(files, file)
        raise
    return file


def look_at_lock(files: FileSystem, folder: int) -> LockReport:
    """Return whether a process has the lock, without keeping the lock or writing to the disk."""
    try:
        file = files.open_to_read(folder, LOCK)
        try:
            # A shared lock, so that two readers do not exclude each other.
            if files.lock(file, shared=True):
                return LockReport(LockState.FREE)
            return LockReport(LockState.HELD, _holder(files, file))
        finally:
            let_go(files, file)
    except FileNotFoundError:
        return LockReport(LockState.FREE)
    except OSError as error:
        problem = f"{LOCK}: {error.strerror or error}"
        return LockReport(LockState.UNKNOWN, problem=problem, errno=error.errno)


def _locked(files: FileSystem, file: int) -> bool:
    for _ in range(TRIES - 1):
        if files.lock(file, shared=False):
            return True
        time.sleep(PAUSE_SECONDS)
    return files.lock(file, shared=False)


def _this_process() -> Holder:
    try:
        boot_id = BOOT_ID.read_text("utf-8").strip()
    except (OSError, ValueError):
        boot_id = "unknown"
    return Holder(str(os.getpid()), platform.node() or "unknown", boot_id)


def _encoded(holder: Holder) -> bytes:
    return f"pid {holder.pid}\nhost {holder.host}\nboot {holder.boot_id}\n".encode()


def _holder(files: FileSystem, file: int) -> Holder:
    text = read_all(files, file, bytes_max=HOLDER_BYTES_MAX).decode("utf-8", "replace")
    # Any program may have written this text, and an operator's terminal shows it.
    facts = dict(FORBIDDEN.sub("?", line).partition(" ")[::2] for line in text.split("\n"))
    return Holder(facts.get("pid", ""), facts.get("host", ""), facts.get("boot", ""))
