"""Each operation fails once: the error is clear, the record whole, and no write is repeated."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from joinproto.durable.filesystem import REAL, FileSystem, RealFileSystem
from joinproto.durable.lock import LockState
from joinproto.errors import (
    MisuseError,
    StoreError,
    StoreMissing,
    StoreUnreadable,
    StoreWriteFailed,
)
from joinproto.store.handle import Store, create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER
from tests.store.inspection import inspect
from tests.store.records import life

LIFE = life()


class Failing:
    """The real file system, except that operation number `at` fails with `code`."""

    def __init__(self, at: int, code: int) -> None:
        self.left = at
        self.code = code
        self.failed = ""
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def operation(*values: Any, **named: Any) -> Any:
            self.asked.append(name)
            self.left -= 1
            if self.left == -1:
                self.failed = name
                if name == "close":  # a close that fails closes the file all the same
                    REAL.close(*values)
                raise OSError(self.code, os.strerror(self.code))
            return getattr(REAL, name)(*values, **named)

        return operation


def failing(at: int, code: int) -> tuple[Failing, FileSystem]:
    """Return one failing file system twice: with its counters, and typed as the port."""
    files = Failing(at, code)
    return files, cast(FileSystem, files)


def present_record(path: Path) -> object:
    """Return the record that a member would find now; None if there is no store."""
    try:
        with open_store(path) as store:
            assert () == store.problems
            return store.record
    except StoreMissing:
        return None


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_fault_at_any_operation_is_reported_and_leaves_a_whole_record(
    tmp_path: Path, code: int
) -> None:
    """Each error at each operation leaves either the old record or the new one."""
    at, failed = 0, set()
    while True:
        path = tmp_path / str(at)
        path.mkdir()
        files, port = failing(at, code)
        reached: list[object] = [None, LIFE[0]]
        said = ""
        try:
            with create_store(path, LIFE[0], member="a", files=port) as store:
                reached = [LIFE[0]]
                for record in LIFE[1:3]:
                    reached.append(record)
                    store.write(record)
                    reached = [record]
            (path / FOLDER / f"{CURRENT}.0123456789abcdef.tmp").touch()
            with open_store(path, files=port):
                pass
        except StoreError as error:
            said = str(error)
        if said:
            assert "  next: " in said
            assert str(path) in said
        if "on disk: generation" in said or "on disk: no store yet" in said:
            reached = reached[:1]
        assert present_record(path) in reached, f"operation {at}, {files.failed}"
        if not files.failed:
            break
        failed.add(files.failed)
        at += 1

    operations = {name for name in vars(FileSystem) if not name.startswith("_")}
    assert operations == failed


def test_an_inspection_reports_a_fault_at_any_operation(tmp_path: Path) -> None:
    """If reading fails, an error or the report says so, and there is no traceback."""
    create_store(tmp_path, LIFE[0], member="a").close()
    at, unsound, unknown = 0, 0, 0
    refused: list[str] = []
    while True:
        files, port = failing(at, errno.EIO)
        try:
            seen = inspect(tmp_path, files=port)
        except StoreUnreadable as error:
            refused.append(str(error))
        else:
            unsound += not seen.is_sound
            unknown += seen.lock.state is LockState.UNKNOWN
            assert seen.problems or files.failed in ("", "close")
        if not files.failed:
            break
        at += 1

    assert refused
    assert all("Input/output error" in said for said in refused)
    assert unsound > 0
    assert unknown > 0


def test_a_failed_write_is_final(tmp_path: Path) -> None:
    """After a failed fsync the handle refuses all writes, and does not retry."""
    files, port = failing(10**9, errno.EIO)
    store = create_store(tmp_path, LIFE[0], member="a", files=port)
    files.left = _operations_until("sync")

    with pytest.raises(StoreWriteFailed) as first:
        store.write(LIFE[1])
    asked = len(files.asked)
    with pytest.raises(StoreWriteFailed, match=r"writes no more: fsync of store\.meta"):
        store.write(LIFE[1])

    assert "fsync of store.meta" in str(first.value)
    assert "on disk: generation 1, whole, as before" in str(first.value)
    assert asked == len(files.asked)
    assert LIFE[0] == store.record
    store.close()
    assert LIFE[0] == present_record(tmp_path)


@pytest.mark.parametrize("operation", ["rename", "sync_directory"])
def test_an_error_from_the_last_rename_on_names_both_possible_generations(
    tmp_path: Path, operation: str
) -> None:
    """From the last rename on, it is unknown which generation is on disk: the error names both."""
    files, port = failing(10**9, errno.EIO)
    store = create_store(tmp_path, LIFE[0], member="a", files=port)
    files.left = _operations_until(operation, last=True)

    with pytest.raises(StoreWriteFailed) as error:
        store.write(LIFE[1])

    assert "on disk: either generation 2, whole, or generation 1, whole" in str(error.value)
    store.close()


def test_an_interrupted_write_is_final(tmp_path: Path) -> None:
    """After Ctrl-C in the middle of a write, it is unknown which steps were done."""

    class Interrupted(RealFileSystem):
        opened = False

        def sync(self, file: int) -> None:
            if self.opened:
                raise KeyboardInterrupt
            super().sync(file)

    create_store(tmp_path, LIFE[0], member="a").close()
    files = Interrupted()
    store = open_store(tmp_path, files=files)
    files.opened = True

    with pytest.raises(KeyboardInterrupt):
        store.write(LIFE[1])
    with pytest.raises(StoreWriteFailed, match="KeyboardInterrupt"):
        store.write(LIFE[1])

    store.close()
    assert LIFE[0] == present_record(tmp_path)


def test_two_writes_at_once_are_misuse(tmp_path: Path) -> None:
    """Otherwise two records could have the same generation."""

    class Twice(RealFileSystem):
        store: Store | None = None

        def rename(self, directory: int, old: str, new: str) -> None:
            if self.store is not None:
                self.store.write(LIFE[2])
            super().rename(directory, old, new)

    files = Twice()
    with create_store(tmp_path, LIFE[0], member="a", files=files) as store:
        files.store = store
        with pytest.raises(MisuseError, match="two threads at once"):
            store.write(LIFE[1])

    assert LIFE[0] == present_record(tmp_path)


def test_short_writes_are_continued(tmp_path: Path) -> None:
    """The system may write or read fewer bytes than requested."""

    class Short(RealFileSystem):
        def write(self, file: int, data: bytes) -> int:
            return super().write(file, data[:7])

        def read(self, file: int, count: int) -> bytes:
            return super().read(file, min(count, 5))

    with create_store(tmp_path, LIFE[4], member="a", files=Short()) as store:
        store.write(LIFE[5])

    with open_store(tmp_path, files=Short()) as store:
        assert LIFE[5] == store.record


def test_a_write_without_progress_fails(tmp_path: Path) -> None:
    """Otherwise the member would hang, without progress and without an error."""

    class Stuck(RealFileSystem):
        def write(self, file: int, data: bytes) -> int:
            return 0

    with pytest.raises(StoreUnreadable, match="no byte was written"):
        create_store(tmp_path, LIFE[4], member="a", files=Stuck())


def _operations_until(name: str, *, last: bool = False) -> int:
    """Return how many operations of one write come before the first, or last, `name`."""
    with TemporaryDirectory() as directory:
        files, port = failing(10**9, 0)
        with create_store(Path(directory), LIFE[0], member="a", files=port) as store:
            before = len(files.asked)
            store.write(LIFE[1])
            asked = files.asked[before:]
    return len(asked) - 1 - asked[::-1].index(name) if last else asked.index(name)
