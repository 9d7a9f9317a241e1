"""Event logs, read: each run of one member is a file or a few, and whole up to its end.

Lines are read when they are asked for, and forgotten.  A process that is killed leaves no last
line, and its next run tells what was on the disk.  So the middle of a line at the end is an error,
unless a later run of the same store is there, too.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.drivers.eventfiles import run_of
from joinproto.drivers.recorded import FORMAT
from joinproto.errors import UsageProblem

AGAIN = "give the whole log, as the member wrote it"

_JSON = json.JSONDecoder()


@frozen
class Run:
    """One process.  `parts`: its files; `is_cut`: inside its last line; `started`: `t`, in ns.

    `version`: of joinproto, None: it does not say.
    """

    path: Path
    parts: tuple[Path, ...]
    is_cut: bool
    member: str
    store_id: str
    started: int
    version: str | None

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines, the start first; raises `UsageProblem` for what is not one."""
        number = 0
        for part in self.parts:
            with _opened(part) as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield _line(self.path, number, line)
                        number += 1


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Return the runs in these files and directories, the earliest first."""
    files = [file for path in paths for file in _files(path)]
    if not files:
        raise UsageProblem("no event logs", next="name files, or a directory with *.jsonl files")
    parts: dict[tuple[Path, str], dict[int, Path]] = {}
    for file in files:
        name, number, is_cut = run_of(file)
        if is_cut:
            raise UsageProblem(
                f"{file}: its disk was full, and the member went on without it",
                next="what a run did cannot be judged from a part of its log; validate other runs",
            )
        parts.setdefault((file.parent, name), {})[number] = file
    runs = sorted((_begun(found) for found in parts.values()), key=lambda run: run.started)
    later: set[str] = set()
    for run in reversed(runs):
        if run.is_cut and run.store_id not in later:
            number = sum(1 for _ in run.lines()) + 1
            raise UsageProblem(f"{run.path}: is cut in the middle of line {number}", next=AGAIN)
        later.add(run.store_id)
    return runs


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return sorted({path, *path.parent.glob(f"{glob.escape(path.stem)}.part*.jsonl")})


def _begun(parts: dict[int, Path]) -> Run:
    """Return the run in these files, of which the first line is read."""
    numbers = sorted(parts)
    path = parts[numbers[0]]
    missing_parts = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    if missing_parts:
        raise UsageProblem(
            f"{path}: part {missing_parts[0]} of this run is not there",
            next="a long run keeps its newest files only (`events_bytes`); validate shorter runs",
        )
    with _opened(path) as file:
        line = file.readline()
    if not line.endswith(b"\n"):
        raise UsageProblem(f"{path}: is {'cut in line 1' if line else 'empty'}", next=AGAIN)
    start = _line(path, 0, line)
    if start["kind"] != "start":
        raise UsageProblem(f"{path}: does not begin with the start of a member", next=AGAIN)
    missing = [name for name in ("t", "config", "record") if name not in start]
    found = start.get("format")
    if found != FORMAT:
        raise UsageProblem(
            f"{path}: format {found}, this version reads {FORMAT}",
            next="validate with the version that wrote it",
        )
    if missing:
        raise UsageProblem(f"{path}: its start lacks {', '.join(missing)}", next=AGAIN)
    files = tuple(parts[number] for number in numbers)
    version = start.get("version")
    try:
        return Run(
            path,
            files,
            _ends_inside_a_line(files[-1]),
            member=str(start["config"]["member"]),
            store_id=str(start["record"]["store_id"]),
            started=int(start["t"]),
            version=None if version is None else str(version),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise no_start(path, error) from error


def no_start(path: Path, why: object) -> UsageProblem:
    """Return what is wrong with a log whose first line makes no member."""
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
        raise UsageProblem(f"{path}: line {number + 1} is not an event", next=AGAIN)
    if found.get("n") != number:
        raise UsageProblem(
            f"{path}: line {number + 1} has number {found.get('n')}: lines are missing, or were"
            " added",
            next=AGAIN,
        )
    return found
