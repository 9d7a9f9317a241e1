"""Read event logs: each run of one member is one file or several, and whole up to its end.

Lines are read on demand, and not kept.  A process that is killed may leave a part of a line, and
its next run logs the contents of the disk.  So a log that ends inside a line is an error, unless a
later run of the same store is given as well.

Members may run while their logs are read.  Lines that they write after the reading began are left
out, for all members from the same moment on.  So a message that a member received is in its
sender's log.
"""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto.host.eventlog import run_of
from joinproto.host.lines import FORMAT

ADVICE = "give the whole log, as the member wrote it"

_JSON = json.JSONDecoder()

COARSE_NS = 20_000_000
"""The time of a file's last change may be behind the clock by this many nanoseconds."""


@frozen
class ReadingStart:
    """The start of the reading, in ns.

    `wall`: by the clock of files.  `monotonic`: by the clock of lines.
    """

    wall: int
    monotonic: int

    @classmethod
    def now(cls) -> ReadingStart:
        return cls(time.time_ns(), time.monotonic_ns())

    def precedes(self, line: dict[str, Any], path: Path) -> bool:
        """Return whether this line was written after this moment, by a process on this machine.

        Another machine's times cannot be compared; its files are copies, and do not change.
        """
        written = line.get("t")
        return (
            isinstance(written, int)
            and written > self.monotonic
            and path.stat().st_mtime_ns > self.wall - COARSE_NS
        )


@frozen
class Run:
    """One process.  `parts`: its files.  `is_cut`: the last file ends inside a line.

    `started`: the time `t` of its first line, in ns.  `version`: the version of joinproto; None if
    the log does not name it.  `until`: later lines are left out.
    """

    path: Path
    parts: tuple[Path, ...]
    is_cut: bool
    member: str
    store_id: str
    started: int
    version: str | None
    until: ReadingStart

    @property
    def goes_on(self) -> bool:
        """Return whether its process has written more lines since the reading began."""
        return self.parts[-1].stat().st_mtime_ns > self.until.wall

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines, the start first; raises `UsageProblem` if a line is not an event."""
        return lines_in(self.parts, self.until)


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Return the runs in these files and directories, the earliest first.

    Raises `UsageProblem` for files that are not whole event logs.
    """
    until = ReadingStart.now()
    every = runs_in(paths)
    for parts in every:
        refuse_incomplete(parts)
    found = (_run_in(parts, until) for parts in every)
    runs = sorted((run for run in found if run is not None), key=lambda run: run.started)
    later: set[str] = set()
    for run in reversed(runs):
        if run.is_cut and run.store_id not in later and not run.goes_on:
            number = sum(1 for _ in run.lines()) + 1
            raise UsageProblem(f"{run.path}: is cut in the middle of line {number}", next=ADVICE)
        later.add(run.store_id)
    return runs


def runs_in(paths: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Return the files of each run in these files and directories; a run's files are in order."""
    found: dict[tuple[Path, str], dict[int, Path]] = {}
    for file in (file for path in paths for file in _files(path)):
        name, number, _ = run_of(file)
        found.setdefault((file.parent, name), {})[number] = file
    if not found:
        raise UsageProblem(
            "there are no event logs", next="name files, or a directory with *.jsonl files"
        )
    return [tuple(parts[number] for number in sorted(parts)) for parts in found.values()]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return sorted({path, *path.parent.glob(f"{glob.escape(path.stem)}.part*.jsonl")})


def refuse_incomplete(parts: tuple[Path, ...]) -> None:
    """Raise `UsageProblem` if these files are not the whole log of the run."""
    for wanted, file in enumerate(parts, start=1):
        _, number, is_cut = run_of(file)
        if number != wanted:
            raise UsageProblem(
                f"{parts[0]}: part {wanted} of this run is missing",
                next="validate shorter runs: a long run keeps its newest files only",
            )
        if is_cut:
            raise UsageProblem(
                f"{file}: the disk was full, so the log ends here although the run continued",
                next="validate other runs: a part of a log does not suffice to judge a run",
            )


def lines_in(parts: tuple[Path, ...], until: ReadingStart) -> Iterator[dict[str, Any]]:
    """Yield the events in the files of a run; raises `UsageProblem` if a line is not an event."""
    number = 0
    for part in parts:
        with _opened(part) as file:
            for text in file:
                if text.endswith(b"\n"):
                    line = _line(parts[0], number, text)
                    if until.precedes(line, part):
                        return
                    yield line
                    number += 1


def _run_in(parts: tuple[Path, ...], until: ReadingStart) -> Run | None:
    """Return the run in these files, from its first line; None if it began after `until`."""
    path = parts[0]
    with _opened(path) as file:
        line = file.readline()
    if not line.endswith(b"\n"):
        raise UsageProblem(f"{path}: is {'cut in line 1' if line else 'empty'}", next=ADVICE)
    start = _line(path, 0, line)
    if until.precedes(start, path):
        return None
    if start["kind"] != "start":
        raise UsageProblem(f"{path}: does not begin with the start of a member", next=ADVICE)
    missing = [name for name in ("t", "config", "record") if name not in start]
    found = start.get("format")
    if found != FORMAT:
        raise UsageProblem(
            f"{path}: format {found}, this version reads {FORMAT}",
            next="validate with the version that wrote it",
        )
    if missing:
        raise UsageProblem(f"{path}: its start lacks {', '.join(missing)}", next=ADVICE)
    version = start.get("version")
    try:
        return Run(
            path,
            parts,
            _ends_inside_a_line(parts[-1]),
            member=str(start["config"]["member"]),
            store_id=str(start["record"]["store_id"]),
            started=int(start["t"]),
            version=None if version is None else str(version),
            until=until,
        )
    except KeyError as error:
        raise start_problem(path, f"it lacks {error}") from error
    except (TypeError, ValueError) as error:
        raise start_problem(path, error) from error


def start_problem(path: Path, why: object) -> UsageProblem:
    """Return the error for a log whose first line does not start a member."""
    return UsageProblem(
        f"{path}: its first line is not the start of a member: {why}",
        next="give the log as the member wrote it",
    )


def _ends_inside_a_line(path: Path) -> bool:
    with _opened(path) as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return bool(file.read(1) != b"\n")


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageProblem(
            f"{path}: cannot be read: {error.strerror or error}", next="check the path"
        ) from error


def _line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = _JSON.decode(line.decode())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
        raise UsageProblem(f"{path}: line {number + 1} is not an event", next=ADVICE)
    if found.get("n") != number:
        raise UsageProblem(
            f"{path}: line {number + 1} has number {found.get('n')}: lines are missing, or were"
            " added",
            next=ADVICE,
        )
    return found
