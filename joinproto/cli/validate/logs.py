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

from joinproto.errors import UsageProblem
from joinproto.host.eventfiles import run_of
from joinproto.host.recorded import FORMAT

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
        return lines_in(self.parts)


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Return the runs in these files and directories, the earliest first."""
    every = runs_in(paths)
    for parts in every:
        refuse_a_rest(parts)
    runs = sorted(map(_begun, every), key=lambda run: run.started)
    later: set[str] = set()
    for run in reversed(runs):
        if run.is_cut and run.store_id not in later:
            number = sum(1 for _ in run.lines()) + 1
            raise UsageProblem(f"{run.path}: is cut in the middle of line {number}", next=AGAIN)
        later.add(run.store_id)
    return runs


def runs_in(paths: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Return the files of each run in these files and directories, in order."""
    found: dict[tuple[Path, str], dict[int, Path]] = {}
    for file in (file for path in paths for file in _files(path)):
        name, number, _ = run_of(file)
        found.setdefault((file.parent, name), {})[number] = file
    if not found:
        raise UsageProblem("no event logs", next="name files, or a directory with *.jsonl files")
    return [tuple(parts[number] for number in sorted(parts)) for parts in found.values()]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return sorted({path, *path.parent.glob(f"{glob.escape(path.stem)}.part*.jsonl")})


def refuse_a_rest(parts: tuple[Path, ...]) -> None:
    """Raise `UsageProblem` where these files are not all that the run has done."""
    for wanted, file in enumerate(parts, start=1):
        _, number, is_cut = run_of(file)
        if number != wanted:
            raise UsageProblem(
                f"{parts[0]}: part {wanted} of this run is not there",
                next="a long run keeps its newest files only; validate shorter runs",
            )
        if is_cut:
            raise UsageProblem(
                f"{file}: its disk was full, and the run went on without it",
                next="what a run did cannot be judged from a part of its log; validate other runs",
            )


def lines_in(parts: tuple[Path, ...]) -> Iterator[dict[str, Any]]:
    """Yield the events in the files of a run; raises `UsageProblem` for what is not one."""
    number = 0
    for part in parts:
        with _opened(part) as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield _line(parts[0], number, line)
                    number += 1


def _begun(parts: tuple[Path, ...]) -> Run:
    """Return the run in these files, of which the first line is read."""
    path = parts[0]
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
