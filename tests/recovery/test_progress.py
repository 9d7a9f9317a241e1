"""The progress of reading: on standard error, after a while, and never for a program."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path

import pytest

from joinproto.recovery import progress
from joinproto.recovery.foreign.tree import DiskTree, pieces
from tests.recovery.asking import ask, ask_json
from tests.recovery.foreign.test_etcd import SEGMENT, member, write_tree


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _read(place: Path, stream: io.StringIO, *, tick: float) -> str:
    """Read a file in three pieces; each look at the clock advances it by `tick` seconds."""
    (place / "wal").write_bytes(bytes(3 << 20))
    clock = count(0.0, tick)
    files = progress.Progress(stream, lambda: next(clock))
    directory = files.open_directory(place)
    tree = DiskTree(files, directory)
    assert 3 << 20 == sum(map(len, pieces(tree, "wal", 0, 3 << 20)))
    tree.close()
    files.clear()
    return stream.getvalue()


def test_short_reading_shows_no_progress(tmp_path: Path) -> None:
    assert "" == _read(tmp_path, Terminal(), tick=0.1)


def test_long_reading_shows_the_file_and_how_much_of_it_was_read(tmp_path: Path) -> None:
    """On a terminal the line is updated in place, and removed at the end."""
    first, second, after, end = _read(tmp_path, Terminal(), tick=0.8).split("\r")[1:]

    assert first == "reading wal: 2.1 of 3.1 MB; 2.1 MB read in all"
    assert second == "reading wal: 3.1 of 3.1 MB; 3.1 MB read in all"
    assert (len(second), "") == (len(after), end + after.strip())


def test_outside_a_terminal_progress_lines_are_rare(tmp_path: Path) -> None:
    assert ["reading wal: 2.1 of 3.1 MB; 2.1 MB read in all"] == _read(
        tmp_path, io.StringIO(), tick=0.8
    ).splitlines()


def test_inspect_shows_progress_only_if_it_is_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error is no terminal here.  Standard output is the same with and without it."""
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    monkeypatch.setitem(progress.EVERY_SECONDS, False, 0.0)
    store = write_tree(member("b"), tmp_path / "b")

    plain, shown = ask(capsys, "inspect", store), ask(capsys, "inspect", "--progress", store)
    code, said = ask_json(capsys, "inspect", store)

    assert "reading" not in plain.err
    assert f"reading {Path(SEGMENT).name}: " in shown.err
    assert plain.out == shown.out
    assert (0, "dirty") == (code, said["stores"][0]["state"])
