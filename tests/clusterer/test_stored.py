"""The stored config is whole after every crash, and never becomes older; Clusterer, U1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, frozen

from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.durable.filesystem import RealFileSystem
from joinproto.errors import StoreCorrupt, StoreError, StoreInUse, StoreUnreadable, StoreWriteFailed

ONE = Held(
    Config(1, frozenset("ab"), gospel="a", shutdown_timeout=30),
    Notes.of({"a": "a#1", "b": "b#1"}),
    Notes.of({"a": 1, "b": 1}),
)
TWO = evolve(ONE, config=evolve(ONE.config, version=2))


def test_a_stored_config_is_loaded_again(tmp_path: Path) -> None:
    """The file has the config, all identities, and the versions since which nodes are members."""
    stored = StoredConfig(tmp_path / "data")
    assert stored.load() is None
    stored.keep(ONE, "a#1")
    stored.keep(TWO, "a#1+1")
    found = stored.load()

    assert found is not None
    assert (TWO, "a#1+1", 2) == (found.held, found.identity, found.generation)
    assert tmp_path / "data-cluster.config" == stored.path


def test_an_older_config_never_overwrites_a_younger_one(tmp_path: Path) -> None:
    """Another config of the same version is refused, too; other identities are stored."""
    stored = StoredConfig(tmp_path / "data")
    stored.keep(TWO, "a#1")
    other = evolve(TWO, config=evolve(TWO.config, gospel="b"))
    for bad in (ONE, other):
        with pytest.raises(StoreError, match="nothing was changed"):
            stored.keep(bad, "a#1")
    learned = evolve(TWO, ids=Notes.of({"a": "a#1", "b": "b#2"}))
    stored.keep(learned, "a#1")
    found = stored.load()

    assert found is not None
    assert learned == found.held


class Killed(BaseException):
    """Raised when the simulated process is killed."""


@define
class DyingDisk(RealFileSystem):
    """The disk of a process that is killed after `left` operations; each byte is an operation."""

    left: int

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def write(self, file: int, data: bytes) -> int:
        self._count()
        return super().write(file, data[:1])

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        self._count()
        return super().create(directory, name, mode)

    def sync(self, file: int) -> None:
        self._count()
        super().sync(file)

    def sync_directory(self, directory: int) -> None:
        self._count()
        super().sync_directory(directory)

    def rename(self, directory: int, old: str, new: str) -> None:
        self._count()
        super().rename(directory, old, new)


def test_a_kill_at_every_byte_leaves_the_old_or_the_new_config(tmp_path: Path) -> None:
    """The file never has a part of a config or no config; the next write succeeds and cleans up."""
    seen = set()
    for operations in range(10_000):
        data = tmp_path / str(operations) / "data"
        data.parent.mkdir()
        stored = StoredConfig(data)
        stored.keep(ONE, "a#1")
        try:
            StoredConfig(data, files=DyingDisk(operations)).keep(TWO, "a#1")
        except Killed:
            found = stored.load()
            assert found is not None
            seen.add(found.held.config.version)
            stored.keep(TWO, "a#1")
            config = "data-cluster.config"
            assert {config, f"{config}.previous", f"{config}.lock"} == {
                path.name for path in data.parent.iterdir()
            }
            continue
        break
    else:
        raise AssertionError("a write has more than 10,000 operations")

    assert {1, 2} == seen
    assert operations > 200


def test_a_file_with_a_flipped_bit_in_any_byte_is_refused(tmp_path: Path) -> None:
    """Its node is not taken for a blank one."""
    stored = StoredConfig(tmp_path / "data")
    stored.keep(ONE, "a#1")
    raw = stored.path.read_bytes()
    for at in range(len(raw)):
        stored.path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises(StoreError):
            stored.load()
    stored.path.write_bytes(raw[:-1])
    with pytest.raises(StoreCorrupt):
        stored.keep(TWO, "a#1")


@frozen
class FailingDisk(RealFileSystem):
    """A disk whose fsync fails."""

    def sync(self, file: int) -> None:
        raise OSError(5, "Input/output error")


def test_errors_of_the_disk_are_named(tmp_path: Path) -> None:
    """The error of a write says whether the new config may be stored."""
    with pytest.raises(StoreWriteFailed, match=r"fsync of .*Input/output error\n.* no store yet"):
        StoredConfig(tmp_path / "data", files=FailingDisk()).keep(ONE, "a#1")
    with pytest.raises(StoreUnreadable):
        StoredConfig(tmp_path / "none" / "data").load()


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    """The lock is the file system's, so it is free once its process has died."""
    files: Any = RealFileSystem()
    room = files.open_directory(tmp_path)
    lock = files.open_to_update(room, "data-cluster.config.lock")
    assert files.lock(lock, shared=False)
    with pytest.raises(StoreInUse):
        StoredConfig(tmp_path / "data").keep(ONE, "a#1")
    files.close(lock)
    StoredConfig(tmp_path / "data").keep(ONE, "a#1")
    files.close(room)
