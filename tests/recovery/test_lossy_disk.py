"""A real file system that loses unsynced data: ext4 in a file that is copied at each moment.

Data that ext4 has not sent to its disk is not in the file.  So a copy of the file is what a loss of
power would leave at that moment; ext4's journal is replayed when the copy is mounted.  ext4 loses
less than `tests/store/crashes.py` assumes, but it is a real file system and not our own model of a
disk.

Source: recovery, "The metadata on disk": "a FUSE file system that loses what was not synced".
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from attrs import define, field

from joinproto.durable.filesystem import RealFileSystem
from joinproto.recovery import writing
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import judge
from joinproto.recovery.plan import Plan, plan_for
from joinproto.store.handle import create_store
from tests.needs import Unable
from tests.recovery.disks import record

IMAGE_BYTES = 4 << 20
MADE = {"who": "an operator", "when": "now"}
FIRST = record("a", "F F.5", "F")

pytestmark = [pytest.mark.soak("stores"), pytest.mark.needs("/usr/sbin/mkfs.ext4", "root")]


@define
class Disk:
    """A file with a mounted file system in it; `copies`: the file at each moment."""

    image: Path
    mount: Path
    copies: list[Path] = field(factory=list)
    last: str = ""

    def copy(self) -> None:
        """Keep the disk that a loss of power would leave now, if it differs from the others."""
        data = self.image.read_bytes()
        digest = sha256(data).hexdigest()
        if digest != self.last:
            self.copies.append(self.image.with_name(f"copy{len(self.copies)}"))
            self.copies[-1].write_bytes(data)
            self.last = digest


def mount(image: Path, at: Path) -> None:
    at.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-o", "loop,commit=600", str(image), str(at)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unable(f"this machine lacks loop devices: {done.stderr.strip()}")


def unmount(at: Path) -> None:
    subprocess.run(["umount", str(at)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    image = tmp_path / "image"
    image.write_bytes(bytes(IMAGE_BYTES))
    subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    made = Disk(image, tmp_path / "mount")
    mount(made.image, made.mount)
    try:
        yield made
    finally:
        unmount(made.mount)
        for copy in tmp_path.glob("copy*"):
            copy.unlink()


class Copying(RealFileSystem):
    """Copies the disk after each change."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        file = super().create(directory, name, mode)
        self.disk.copy()
        return file

    def write(self, file: int, data: bytes) -> int:
        count = super().write(file, data)
        self.disk.copy()
        return count

    def sync(self, file: int) -> None:
        super().sync(file)
        self.disk.copy()

    def sync_directory(self, directory: int) -> None:
        super().sync_directory(directory)
        self.disk.copy()

    def rename(self, directory: int, old: str, new: str) -> None:
        super().rename(directory, old, new)
        self.disk.copy()

    def unlink(self, directory: int, name: str) -> None:
        super().unlink(directory, name)
        self.disk.copy()


class NeverSynced(Copying):
    def sync(self, file: int) -> None:
        self.disk.copy()

    def sync_directory(self, directory: int) -> None:
        self.disk.copy()


def state_in(copy: Path, data: Path) -> str:
    """Return the tool's report about the mark on this copy."""
    at = copy.with_name("again")
    mount(copy, at)
    try:
        found = read(gather(at / data.name, host="h"))
        if found.record is None:
            return found.state.value
        assert not found.problems
        return "marked" if found.record.is_marked else "not marked"
    finally:
        unmount(at)


def make_plan(disk: Disk) -> tuple[Plan, Path]:
    path = disk.mount / "a"
    path.mkdir()
    create_store(path, FIRST, member="a").close()
    os.sync()
    return plan_for(judge([read(gather(path, host="h"))]), unproven=True), path


def test_after_a_loss_of_power_the_store_is_as_before_or_as_after(disk: Disk) -> None:
    """This holds at every moment of apply and undo; and a reported change is not lost."""
    plan, path = make_plan(disk)

    writing.apply(plan, host="h", made=MADE, files=Copying(disk))
    disk.copy()
    applied = [state_in(copy, path) for copy in disk.copies]
    disk.copies.clear()
    writing.undo(path, host="h", made=MADE, files=Copying(disk))
    disk.copy()
    undone = [state_in(copy, path) for copy in disk.copies]

    assert {"not marked", "marked"} == {*applied}
    assert "marked" == applied[-1]
    assert sorted(applied, reverse=True) == applied
    assert "not marked" == undone[-1]
    assert {*undone} <= {"marked", "not marked"}


def test_unsynced_data_is_lost(disk: Disk) -> None:
    """If this disk did not lose data, the test above would prove nothing."""
    plan, path = make_plan(disk)

    writing.apply(plan, host="h", made=MADE, files=NeverSynced(disk))
    disk.copy()

    now = read(gather(path, host="h")).record
    assert now is not None
    assert now.is_marked
    assert "marked" != state_in(disk.copies[-1], path)
