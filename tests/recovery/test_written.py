"""Files of earlier versions are read, or refused with their name and the next step.

`written/0.1.0`: three nodes of that version, `c` killed with -9 after five frames, `a` and `b`
after eight; their directories, their collected files, and a plan, all written by that version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joinproto.durable.journal.journal import FILE
from joinproto.log.disk import open_disk
from tests.recovery.asking import ask, ask_json, names

WRITTEN = Path(__file__).parent / "written" / "0.1.0"


@pytest.fixture
def disks(tmp_path: Path) -> dict[str, Path]:
    return {name: Path(shutil.copytree(WRITTEN / name, tmp_path / name)) for name in "abc"}


def test_directories_of_the_earlier_version_are_read(
    disks: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of each store and the latest store are found."""
    code, said = ask_json(capsys, "pick", *disks.values())

    assert (0, "tie", ["a", "b"]) == (code, said["verdict"], names(said["latest"]))
    assert [8, 8, 5] == [store["seq"] for store in said["stores"]]


def test_directories_of_the_earlier_version_are_opened(disks: dict[str, Path]) -> None:
    """A node of this version opens them."""
    seqs = []
    for name, path in disks.items():
        disk = open_disk(path, name, "demo")
        assert disk.record.position is not None
        seqs.append(disk.record.position.seq)
        disk.close()

    assert [8, 8, 5] == seqs


def test_a_missing_journal_in_a_directory_of_the_earlier_version_is_noticed(
    disks: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Version 0.1.0 did not write down where frames are, but the others' journals show it."""
    (disks["c"] / FILE).unlink()

    _, said = ask_json(capsys, "pick", *disks.values())

    assert ["dirty", "dirty", "corrupt"] == [store["state"] for store in said["stores"]]


def test_collected_files_of_the_earlier_version_are_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The files of all machines give the same result as the directories."""
    code, said = ask_json(capsys, "pick", *sorted(WRITTEN.glob("*.info")))

    assert (0, "tie") == (code, said["verdict"])
    assert ["node-a", "node-b", "node-c"] == [store["host"] for store in said["stores"]]


def test_a_plan_of_the_earlier_version_is_refused_with_the_next_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A plan of version 0.1.0 is not bound to the journal of its store."""
    done = ask(capsys, "apply", WRITTEN / "plan.json")

    assert 7 == done.code
    assert "plan of version 1" in done.err
    assert "next: make it again" in done.err
    assert "joinproto recover plan" in done.err
