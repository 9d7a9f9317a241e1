"""Run one command in a child process, and return its output and its costs."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import Factory, frozen

LINES_SHOWN = 12
"""The number of shown lines at the end of a failed command's output."""


@frozen
class Cost:
    """A cost.  `cpu_seconds`: user and system time, including start-up and all children."""

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


@frozen
class Finished:
    """A command that ended.  `exit_code`: 128 and more for a signal."""

    cost: Cost
    exit_code: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """Return the end of the command's output, which shows a person why it failed."""
        text = self.stderr.strip() or self.stdout.strip() or "the command printed nothing"
        return "\n".join(text.splitlines()[-LINES_SHOWN:])


@frozen
class Command:
    """A command to run.  `environment`: variables to add; `folder`: the working directory."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = Factory(dict)


def measure(command: Command, *, launcher: Path | None = None) -> Finished:
    """Run `command` to its end.

    `launcher`: peers/launch.c, compiled; without it the peak is never below this process's own
    peak, which only matters for small programs.
    """
    with tempfile.TemporaryDirectory(prefix="joinproto-bench-") as name:
        place = Path(name)
        prefix = [str(launcher), str(place / "cost")] if launcher is not None else []
        # Files, not pipes: a pipe that is not read while the child runs fills up and blocks the
        # child.
        with (place / "out").open("w+") as out, (place / "err").open("w+") as err:
            began = time.perf_counter()
            child = subprocess.Popen(
                [*prefix, *command.arguments],
                cwd=command.folder,
                env={**os.environ, **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - began
            # Otherwise Popen would wait for a child that has ended.
            child.returncode = os.waitstatus_to_exitcode(status)
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss
        if (place / "cost").exists():
            user, system, kib, _ = (place / "cost").read_text("utf-8").split()
            cpu, peak = float(user) + float(system), int(kib)
        return Finished(
            cost=Cost(cpu_seconds=cpu, wall_seconds=wall, peak_bytes=peak * 1024),
            exit_code=code,
            stdout=(place / "out").read_text("utf-8", errors="replace"),
            stderr=(place / "err").read_text("utf-8", errors="replace"),
        )
