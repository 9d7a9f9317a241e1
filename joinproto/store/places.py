"""Open the directories of a member and its store, with errors for the operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joinproto.durable.filesystem import FileSystem, let_go, reason
from joinproto.errors import StoreError, StoreMissing, StoreUnreadable
from joinproto.store.slots import FOLDER


def open_data_directory(files: FileSystem, path: Path) -> int:
    """Return the open data directory of a member; it must exist."""
    try:
        return files.open_directory(path)
    except OSError as error:
        raise _refusal(path, error, "the data directory of a member") from error


def open_folder(files: FileSystem, path: Path) -> int:
    """Return the open directory of the store in the data directory `path`."""
    data = open_data_directory(files, path)
    try:
        return files.open_directory_in(data, FOLDER)
    except OSError as error:
        raise _refusal(path / FOLDER, error, "the directory of a store") from error
    finally:
        let_go(files, data)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StoreUnreadable` with advice for the operator."""
    try:
        yield
    except OSError as error:
        place = path / error.filename if isinstance(error.filename, str) else path
        raise StoreUnreadable(
            f"{place}: cannot be opened: {reason(error)}\n  the store was not changed",
            next="look at the permissions, at the disk, and whether it is mounted for writing",
        ) from error


def _refusal(path: Path, error: OSError, expected: str) -> StoreError:
    match error:
        case FileNotFoundError():
            return StoreMissing(
                f"{path}: not there, expected {expected}",
                next="check the path, and whether its disk is mounted",
            )
        case NotADirectoryError():
            what = "a symbolic link, which is not followed" if path.is_symlink() else "a file"
            return StoreUnreadable(
                f"{path}: {what}, expected {expected}\n  nothing was changed",
                next="check the path",
            )
    return StoreUnreadable(
        f"{path}: cannot be opened: {reason(error)}\n  nothing was changed",
        next="look at the permissions and at the disk",
    )
