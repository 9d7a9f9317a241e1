"""The event log: the events and effects of a member as lines of JSON.

Each run of a process has one file, and further files as the log grows.  When a member's files are
too large, the oldest are removed.  A line is in the file before its action is done, so the log has
every action of a killed process.  `joinproto validate` reads these files, and calls the same member
again.  `t` is in nanoseconds of the machine's clock, which all processes since one boot share.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from attrs import define, field

from joinproto.errors import EnvironmentProblem

# The names of event logs:
#
# MEMBER-TIME-PID.jsonl          the first file of a run of a process
# MEMBER-TIME-PID.part2.jsonl    its second file
# MEMBER-TIME-PID.cut.jsonl      its last file (or .part2.cut), if the rest could not be written

_NAME = re.compile(r"(?P<run>.+?)(?:\.part(?P<part>[0-9]+))?(?P<cut>\.cut)?\.jsonl")


def part_path(first: Path, number: int) -> Path:
    """Return the path of a run's file by its number, from 1.  `first`: the path of number 1."""
    return first if number == 1 else first.with_name(f"{first.stem}.part{number}.jsonl")


def cut_path(path: Path) -> Path:
    """Return the new path of a file whose rest could not be written."""
    return path.with_name(f"{path.stem}.cut.jsonl")


def run_of(path: Path) -> tuple[str, int, bool]:
    """Return the name of the run, the file's number in it, and whether its rest is missing."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        return path.name, 1, False
    return found["run"], int(found["part"] or 1), found["cut"] is not None


def remove_oldest(path: Path, bytes_max: int) -> None:
    """Remove the oldest event logs of the member of `path` until all together fit `bytes_max`.

    The file `path` itself is never removed.
    """
    member = path.name.rsplit("-", 2)[0]
    own = re.compile(rf"{re.escape(member)}-[0-9]+-[0-9]+\..*jsonl")
    found: list[tuple[int, Path, int]] = []
    with suppress(OSError):
        for one in path.parent.iterdir():
            if own.fullmatch(one.name):
                about = one.stat()
                found.append((about.st_mtime_ns, one, about.st_size))
    total = sum(size for _, _, size in found)
    for _, one, size in sorted(found):
        if total <= bytes_max:
            return
        if one != path:
            with suppress(OSError):
                one.unlink()
                total -= size


log = logging.getLogger(__name__)

BYTES_MAX = 2**30
PARTS = 8
"""The bytes are divided into this many files, so that the oldest files can be removed."""


class NoLog:
    """A log without a file.  `is_on`: False, so callers need not make the lines."""

    is_on = False

    def write(self, kind: str, **facts: object) -> None:
        pass

    def close(self) -> None:
        pass


@define
class FileLog:
    """A log that appends each line to a file as soon as it is made.

    The file gets its name once the first line is in it, so there are no empty logs.  `bytes_max`:
    the limit for all files of this member.  `is_needed`: a line that cannot be written raises an
    error, which ends the member; otherwise the log ends, and the member continues.
    """

    file: int
    path: Path
    bytes_max: int
    is_needed: bool
    lines: int = 0
    _first: Path = field(init=False)
    _part: int = 1
    _size: int = 0

    def __attrs_post_init__(self) -> None:
        self._first = self.path

    @classmethod
    def create(cls, path: Path, *, bytes_max: int = BYTES_MAX, is_needed: bool = True) -> FileLog:
        """Return a log in a new file; raises `EnvironmentProblem` if there can be none."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_oldest(path, bytes_max - bytes_max // PARTS)
            return cls(_opened(path), path, bytes_max, is_needed)
        except OSError as error:
            raise EnvironmentProblem(
                f"the event log {path} cannot be made: {error.strerror or error}",
                next="give a directory in which this user may write",
            ) from error

    @property
    def is_on(self) -> bool:
        return self.file >= 0

    def write(self, kind: str, **facts: object) -> None:
        """Write one line; raises `EnvironmentProblem` if that fails and the log is needed."""
        if not self.is_on:
            return
        head = {"n": self.lines, "kind": kind, "t": time.monotonic_ns()}
        line = json.dumps(head | facts, separators=(",", ":"))
        data = line.encode() + b"\n"
        try:
            if self._size and self._size + len(data) > self.bytes_max // PARTS:
                self._open_next_file()
            rest = data
            while rest:
                rest = rest[os.write(self.file, rest) :]
            if not self._size:
                _temporary(self.path).rename(self.path)
        except OSError as error:
            self._failed(error)
            return
        self._size += len(data)
        self.lines += 1

    def close(self) -> None:
        """Close the file; all lines are in it already."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def _open_next_file(self) -> None:
        path = part_path(self._first, self._part + 1)
        file = _opened(path)
        self.close()
        self.file, self.path, self._part, self._size = file, path, self._part + 1, 0
        remove_oldest(path, self.bytes_max - self.bytes_max // PARTS)

    def _failed(self, error: OSError) -> None:
        why = error.strerror or str(error)
        if self.is_needed:
            raise EnvironmentProblem(
                f"the event log cannot be written: {why}",
                next="free some space, or run without an event log",
            ) from error
        log.warning("the event log %s ends here, and the member continues: %s", self.path, why)
        with suppress(OSError):
            # A reader must not take the file for a complete log.
            os.ftruncate(self.file, self._size)
            self.path.rename(cut_path(self.path))
        self.close()


EventLog: TypeAlias = NoLog | FileLog


def _opened(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    return os.open(_temporary(path), flags, 0o640)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def open_log(
    directory: Path | None, name: str, *, bytes_max: int = BYTES_MAX, is_needed: bool = False
) -> EventLog:
    """Return the log of a process that starts: a new file in `directory`, or `NoLog` for None.

    Raises `EnvironmentProblem` if the file cannot be made.
    """
    if directory is None:
        return NoLog()
    path = directory / f"{name}-{time.time_ns()}-{os.getpid()}.jsonl"
    return FileLog.create(path, bytes_max=bytes_max, is_needed=is_needed)
