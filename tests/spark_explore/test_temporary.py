"""Temporary folders: each run removes its own folder, and the folders of killed runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from spark_explore.temporary import own_folder


def test_a_run_removes_the_folder_of_a_killed_run_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The folder of a living run is locked; a folder without a lock file is of another program."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, other = tmp_path / "joinproto-spark-killed", tmp_path / "joinproto-spark-other"
    for folder in (killed, other):
        (folder / "levels").mkdir(parents=True)
    (killed / "held").touch()

    with own_folder() as first, own_folder() as second:
        assert {first, second, other} == set(tmp_path.iterdir())
        assert first != second

    assert [other] == list(tmp_path.iterdir())
