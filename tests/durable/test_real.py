"""The file system of this machine does what the names of its calls say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinproto.durable.filesystem import REAL


@pytest.mark.parametrize(
    ("call", "system"),
    [("sync", "fsync"), ("sync_data", "fdatasync"), ("sync_directory", "fsync")],
)
def test_each_sync_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, system: str
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, system, waited.append)
    directory = REAL.open_directory(tmp_path)
    file = REAL.create(directory, "a")

    getattr(REAL, call)(directory if call == "sync_directory" else file)

    assert [directory if call == "sync_directory" else file] == waited
    REAL.close(file)
    REAL.close(directory)


def test_the_real_file_system_writes_links_and_renames_files(tmp_path: Path) -> None:
    directory = REAL.open_directory(tmp_path)
    file = REAL.create(directory, "a")
    assert 5 == REAL.write(file, b"hello")
    assert 2 == REAL.write_at(file, 6, b"12")
    assert (8, b"o\x0012") == (REAL.size(file), REAL.read_at(file, 4, 9))
    REAL.truncate(file, 6)
    REAL.link(directory, "a", "b")
    REAL.rename(directory, "a", "c")

    assert ["b", "c"] == REAL.names(directory)
    assert b"hello\0" == (tmp_path / "c").read_bytes() == (tmp_path / "b").read_bytes()
    REAL.close(file)
    REAL.close(directory)
