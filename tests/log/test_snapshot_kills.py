"""kill -9 at the steps of a snapshot and of the dropping of frames: no frame is lost.

The writes of a killed process stay (`kills.py`); for a power cut, the order of writes, syncs and
renames is checked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from joinproto.durable.journal import index as indexes
from joinproto.durable.journal.journal import FILE, Frame
from joinproto.log import keeper as keepers
from joinproto.log.disk import Disk, open_disk
from joinproto.log.entry import packed
from joinproto.log.keeper import Keeper, Keeping
from joinproto.log.snapshot import FILE as SNAPSHOT
from tests.log.engines import Applied
from tests.log.kills import counted, last_told_before_kill
from tests.log.test_disk import RECORD, make_store

FRAMES = 24


@define
class MemberLog:
    """A member's log in one process: writes frames, and does snapshot work after each."""

    path: Path
    disk: Disk = field(init=False)
    app: Applied = field(factory=Applied)
    keeper: Keeper = field(init=False)
    applied: int = 0

    def __attrs_post_init__(self) -> None:
        self.disk = open_disk(self.path, "a", "cluster")
        keeping = Keeping(
            snapshot_every=5, keep_frames=3, before_dropping=self.disk.before_dropping
        )
        self.keeper = Keeper(self.disk.journal, self.app, keeping)
        self.applied = self.keeper.begin()
        self.apply()

    def apply(self) -> None:
        journal = self.disk.journal
        while self.applied < journal.last_seq:
            for frame in journal.read(self.applied + 1):
                self.app.apply(frame)
                self.applied = frame.seq

    def write(self) -> int:
        """Write the next frame, and return its number once it is on the disk."""
        seq = self.disk.journal.last_seq + 1
        data = packed("me", seq, b"text %d" % seq)
        self.disk.journal.append([Frame(str(RECORD.held), seq, data)])
        self.apply()
        for _ in range(3):
            for work in self.keeper.work(self.applied):
                work()
        return seq

    def close(self) -> None:
        self.disk.close()


def killed_at(path: Path, step: int, *, half: bool) -> int:
    """Write frames in a child that kills itself at this step; return the last frame that is sure.

    That is the last frame that the child reported, or else 3, which it began with; -1 if the child
    reached its end.  `half`: a `pwrite` at this step writes half of its bytes before the kill.
    """

    def begin() -> Iterator[int]:
        log = MemberLog(path)
        return (log.write() for _ in range(FRAMES))

    told, is_end = last_told_before_kill(begin, step, half=half)
    return -1 if is_end else told or 3


@pytest.fixture(scope="module")
def three_frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a member with three frames."""
    path = make_store(tmp_path_factory.mktemp("three_frames") / "a")
    (path / FILE).unlink()
    disk = open_with_empty_journal(path)
    for seq in (1, 2, 3):
        disk.journal.append([Frame(str(RECORD.held), seq, packed("me", seq, b"text %d" % seq))])
    disk.close()
    return path


def open_with_empty_journal(path: Path) -> Disk:
    (path / FILE).touch()
    return open_disk(path, "a", "cluster")


def _kill_at_steps(base: Path, top: Path, first: int, by: int, *, half: bool) -> int:
    """Kill a member on a copy of `base`, at each `by`-th step from `first`; return the rounds."""
    steps = 0
    for step in range(first, 10_000, by):
        path = Path(shutil.copytree(base, top / f"{step}"))
        sure = killed_at(path, step, half=half)
        log = MemberLog(path)
        last = log.disk.journal.last_seq
        expected = [f"text {number}" for number in range(1, last + 1)]
        assert expected == log.app.texts, step
        assert sure <= last or sure == -1, step
        expected += [f"text {log.write()}" for _ in range(12)]
        assert expected == log.app.texts, step
        log.close()
        again = MemberLog(path)
        assert expected == again.app.texts, step
        names = {one.name for one in path.iterdir()}
        assert not names & set(keepers.LEFTOVERS), step
        again.close()
        shutil.rmtree(path)
        steps += 1
        if sure == -1:
            break
    return steps


@pytest.fixture
def small_blocks_without_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an index block for each 300 bytes, and do not wait for this machine's disk."""
    monkeypatch.setattr(indexes, "STRETCH_BYTES", 300)
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda file: None)


@pytest.mark.parametrize("half", [False, True], ids=["before", "within"])
def test_no_frame_is_lost_by_a_kill_at_some_steps_of_a_snapshot_or_of_dropping_frames(
    three_frames: Path, tmp_path: Path, small_blocks_without_syncs: None, half: bool
) -> None:
    """This kills at each ninth step; a soak test kills at all steps."""
    assert _kill_at_steps(three_frames, tmp_path, 4 if half else 0, 9, half=half) > 20


@pytest.mark.soak("stores")
@pytest.mark.parametrize("half", [False, True], ids=["before", "within"])
def test_no_frame_is_lost_by_a_kill_at_any_step_of_a_snapshot_or_of_dropping_frames(
    three_frames: Path, tmp_path: Path, small_blocks_without_syncs: None, half: bool
) -> None:
    assert _kill_at_steps(three_frames, tmp_path, 0, 1, half=half) > 200


def test_a_renamed_file_is_synced_before_and_its_directory_after(
    three_frames: Path, tmp_path: Path
) -> None:
    """A power cut leaves the former file or the new one; the index may be incomplete."""
    path = Path(shutil.copytree(three_frames, tmp_path / "a"))
    log = MemberLog(path)
    dirty: set[str] = set()
    renamed: list[str] = []
    unsynced = ""

    def each(name: str, args: Any) -> None:
        nonlocal unsynced
        where = ""
        if isinstance(args[0], int):
            where = str(Path(f"/proc/self/fd/{args[0]}").readlink())
        if name in ("pwrite", "write"):
            assert unsynced in ("", "frames.index"), "the name of a file is not durable yet"
            dirty.add(Path(where).name)
        elif name in ("fsync", "fdatasync"):
            dirty.discard(Path(where).name)
            if Path(where) == path:
                unsynced = ""
        elif name == "rename" and args[0].startswith("frames."):
            assert Path(args[0]).name not in dirty or "index" in Path(args[0]).name
            unsynced = Path(args[1]).name
            renamed.append(unsynced)

    with pytest.MonkeyPatch.context() as patch:
        counted(patch, each)
        for _ in range(FRAMES):
            log.write()
    log.close()

    assert {SNAPSHOT, FILE, indexes.FILE} <= set(renamed)
