"""Event logs, read: each run of one member is a file or a few, and whole up to its end.

A process that is killed leaves no last line, and its next run tells what was on the disk.  So
the middle of a line at the end is an error, unless a later run of the same store is there, too.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.drivers.eventfiles import run_of
from joinproto.drivers.recorded import FORMAT
from joinproto.errors import UsageProblem

AGAIN = "give the whole log, as the member wrote it"


@frozen
class Run:
    """One process.  `is_cut`: its last line is not whole; `started`: nanoseconds of `t`."""

    path: Path
    lines: tuple[dict[str, Any], ...]
    is_cut: bool

    @property
    def start(self) -> dict[str, Any]:
        return self.lines[0]

    @property
    def member(self) -> str:
        return str(self.start["config"]["member"])

    @property
    def store_id(self) -> str:
        return str(self.start["record"]["store_id"])

    @property
    def started(self) -> int:
        return int(self.start["t"])

    @property
    def has_end(self) -> bool:
        return bool(self.lines[-1]["kind"] == "end")


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
    runs = sorted((_read(found) for found in parts.values()), key=lambda run: run.started)
    for at, run in enumerate(runs):
        later = any(other.store_id == run.store_id for other in runs[at + 1 :])
        if run.is_cut and not later:
            raise UsageProblem(
                f"{run.path}: is cut in the middle of line {len(run.lines) + 1}", next=AGAIN
            )
    return runs


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return sorted({path, *path.parent.glob(f"{glob.escape(path.stem)}.part*.jsonl")})


def _read(parts: dict[int, Path]) -> Run:
    numbers = sorted(parts)
    path = parts[numbers[0]]
    missing_parts = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    if missing_parts:
        raise UsageProblem(
            f"{path}: part {missing_parts[0]} of this run is not there",
            next="a long run keeps its newest files only (`events_bytes`); validate shorter runs",
        )
    text = b""
    for number in numbers:
        try:
            text += parts[number].read_bytes()
        except OSError as error:
            raise UsageProblem(
                f"{parts[number]}: cannot be read: {error.strerror or error}",
                next="check the path",
            ) from error
    *whole, rest = text.split(b"\n")
    lines = tuple(_line(path, number, line) for number, line in enumerate(whole))
    if not lines:
        raise UsageProblem(f"{path}: is {'cut in line 1' if rest else 'empty'}", next=AGAIN)
    if lines[0]["kind"] != "start":
        raise UsageProblem(f"{path}: does not begin with the start of a member", next=AGAIN)
    missing = [name for name in ("t", "config", "record") if name not in lines[0]]
    found = lines[0].get("format")
    if found != FORMAT:
        raise UsageProblem(
            f"{path}: format {found}, this version reads {FORMAT}",
            next="validate with the version that wrote it",
        )
    if missing:
        raise UsageProblem(f"{path}: its start lacks {', '.join(missing)}", next=AGAIN)
    return Run(path, lines, bool(rest))


def _line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
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
