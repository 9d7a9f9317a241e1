"""Run the tool in this process, and compare a directory's contents before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Done, run_here

Snapshot = dict[str, tuple[int, int, bytes | None]]


def snapshot(folder: Path) -> Snapshot:
    """Return names, kinds, modification times and contents of everything below `folder`."""
    found: Snapshot = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        is_file = path.is_file() and not path.is_symlink()
        data = path.read_bytes() if is_file else None
        found[str(path)] = (status.st_mode, status.st_mtime_ns, data)
    return found


def ask(capsys: pytest.CaptureFixture[str], *words: object) -> Done:
    """Run `joinproto recover` with these words."""
    return run_here(capsys, "recover", *map(str, words))


def ask_json(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    """Run `joinproto recover` with --json; return the exit code and the object."""
    done = ask(capsys, *words, "--json")
    return done.code, done.object


def names(paths: list[str]) -> list[str]:
    """Return the last parts of paths."""
    return [path.rpartition("/")[2] for path in paths]
