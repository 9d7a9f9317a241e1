"""The event log: what a member was told, and what it asked for, as lines of JSON.

One file for each run of a process.  A line is in the file before what it says is done, so
that a process that is killed has done nothing of which the log is silent.  `joinproto validate`
reads these files, and calls the same member again.  `t` is in nanoseconds of the machine's
clock, which all processes of one boot share.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Protocol

from attrs import define

from joinproto.errors import EnvironmentProblem


class EventLog(Protocol):
    """Where lines go."""

    @property
    def is_on(self) -> bool:
        """Return whether lines go anywhere; else nobody need make them."""

    def write(self, kind: str, **facts: object) -> None: ...
    def close(self) -> None: ...


class NoLog:
    """Nothing is written."""

    is_on = False

    def write(self, kind: str, **facts: object) -> None:
        pass

    def close(self) -> None:
        pass


@define
class FileLog:
    """Lines at the end of a file, each written whole by one call of the system.

    The file has its name once the first line is in it: an empty log is none.
    """

    file: int
    path: Path
    lines: int = 0

    @classmethod
    def create(cls, path: Path) -> FileLog:
        """Return a log in a new file; raises `EnvironmentProblem`."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            return cls(os.open(_unnamed(path), flags, 0o640), path)
        except OSError as error:
            raise EnvironmentProblem(
                f"the event log {path}: {error.strerror or error}",
                next="give a directory that can be written",
            ) from error

    @property
    def is_on(self) -> bool:
        return self.file >= 0

    def write(self, kind: str, **facts: object) -> None:
        """Write one line.  A disk that is full ends the member, as any failed write does."""
        if not self.is_on:
            return
        head = {"n": self.lines, "kind": kind, "t": time.monotonic_ns()}
        line = json.dumps(head | facts, separators=(",", ":"))
        data = line.encode() + b"\n"
        try:
            while data:
                data = data[os.write(self.file, data) :]
            if not self.lines:
                _unnamed(self.path).rename(self.path)
        except OSError as error:
            raise EnvironmentProblem(
                f"the event log cannot be written: {error.strerror or error}",
                next="free some space, or run without an event log",
            ) from error
        self.lines += 1

    def close(self) -> None:
        """Close the file; what was written is in it already."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def _unnamed(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
