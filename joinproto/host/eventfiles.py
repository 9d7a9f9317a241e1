"""Event logs as files: what they are called, and which of them go when they are too many.

MEMBER-TIME-PID.jsonl          the first file of a run of a process
MEMBER-TIME-PID.part2.jsonl    where it continues
MEMBER-TIME-PID.cut.jsonl      its last file (or .part2.cut): the rest could not be written
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"(?P<run>.+?)(?:\.part(?P<part>[0-9]+))?(?P<cut>\.cut)?\.jsonl")


def part(first: Path, number: int) -> Path:
    """Return the file of a run, from 1, whose first file this is."""
    return first if number == 1 else first.with_name(f"{first.stem}.part{number}.jsonl")


def cut(path: Path) -> Path:
    """Return what a file is called whose rest could not be written."""
    return path.with_name(f"{path.stem}.cut.jsonl")


def run_of(path: Path) -> tuple[str, int, bool]:
    """Return the name of the run, the file's number in it, and whether its rest is missing."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        return path.name, 1, False
    return found["run"], int(found["part"] or 1), found["cut"] is not None


def remove_oldest(path: Path, bytes_max: int) -> None:
    """Remove the oldest files of the member whose file this is, as far as all are too much.

    Never `path` itself.
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
