"""The interface to the file system: the few operations that durable files need.

Everything that a record, a journal or a lock does to a disk goes through here.  So a test can use a
disk that loses unsynced data, omit an operation, or make one fail.  Names are relative to an open
directory, so that no other directory can take its place between two steps.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from attrs import define

from joinproto.errors import StoreWriteFailed

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NOFOLLOW: through a link in place of a file, another process could choose which file we write.
# O_NONBLOCK: a pipe in place of a file could make us wait forever.
PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileSystem(Protocol):
    """The file system that a record and a lock need; every method may raise `OSError`.

    `directory` and `file` are file descriptors.  Places and sizes are bytes from 0.
    """

    def open_directory(self, path: Path) -> int:
        """Open a directory; symbolic links are followed."""

    def open_directory_in(self, directory: int, name: str) -> int:
        """Open a directory in a directory; a link is refused."""

    def make_directory(self, directory: int, name: str, mode: int = 0o755) -> None:
        """Make a directory; raises `FileExistsError` if the name is in use."""

    def names(self, directory: int) -> list[str]:
        """Return the names in a directory, sorted."""

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        """Create a file, and open it for reading and writing; it must not exist before."""

    def open_to_read(self, directory: int, name: str) -> int:
        """Open a regular file for reading; a link, or a file of another type, is refused."""

    def open_to_update(self, directory: int, name: str, mode: int = 0o640) -> int:
        """Open a regular file for reading and writing, or create it; a link is refused."""

    def is_same(self, directory: int, name: str, file: int) -> bool:
        """Return whether the open file has this name."""

    def read(self, file: int, count: int) -> bytes:
        """Return the next bytes of a file, at most `count`; b"" at the end of the file."""

    def write(self, file: int, data: bytes) -> int:
        """Write some of `data`, and return how many bytes were written."""

    def truncate(self, file: int, size: int = 0) -> None:
        """Cut an open file to this many bytes."""

    def sync(self, file: int) -> None:
        """Return once the content of a file is on the disk."""

    def sync_directory(self, directory: int) -> None:
        """Return once the names in a directory are on the disk."""

    def rename(self, directory: int, old: str, new: str) -> None:
        """Rename a file; it replaces the file that had the new name."""

    def unlink(self, directory: int, name: str) -> None:
        """Remove a name."""

    def lock(self, file: int, *, shared: bool) -> bool:
        """Take the lock of an open file; return False at once if another process has it."""

    def close(self, file: int) -> None:
        """Close a file or a directory; this releases its lock."""


class JournalFileSystem(FileSystem, Protocol):
    """The file system that a journal needs: also access to any byte of a file, and hard links."""

    def size(self, file: int) -> int:
        """Return how many bytes an open file has."""

    def read_at(self, file: int, at: int, count: int) -> bytes:
        """Return up to `count` bytes from `at` on; b"" at the end of the file."""

    def write_at(self, file: int, at: int, data: bytes | memoryview) -> int:
        """Write some of `data` at `at`, and return how many bytes were written."""

    def sync_data(self, file: int) -> None:
        """Return once the content and the size of a file are on the disk."""

    def link(self, directory: int, old: str, new: str) -> None:
        """Give a file a second name; raises `FileExistsError` if this name is in use."""


class RealFileSystem(JournalFileSystem):
    """The disks of this machine."""

    def open_directory(self, path: Path) -> int:
        return os.open(path, DIRECTORY)

    def open_directory_in(self, directory: int, name: str) -> int:
        return os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)

    def make_directory(self, directory: int, name: str, mode: int = 0o755) -> None:
        os.mkdir(name, mode, dir_fd=directory)

    def names(self, directory: int) -> list[str]:
        return sorted(os.listdir(directory))

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | PLAIN
        return os.open(name, flags, mode, dir_fd=directory)

    def open_to_read(self, directory: int, name: str) -> int:
        return _require_regular(os.open(name, os.O_RDONLY | PLAIN, dir_fd=directory), name)

    def open_to_update(self, directory: int, name: str, mode: int = 0o640) -> int:
        flags = os.O_RDWR | os.O_CREAT | PLAIN
        return _require_regular(os.open(name, flags, mode, dir_fd=directory), name)

    def is_same(self, directory: int, name: str, file: int) -> bool:
        try:
            named = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(file))

    def read(self, file: int, count: int) -> bytes:
        return os.read(file, count)

    def write(self, file: int, data: bytes) -> int:
        return os.write(file, data)

    def size(self, file: int) -> int:
        return os.fstat(file).st_size

    def read_at(self, file: int, at: int, count: int) -> bytes:
        return os.pread(file, count, at)

    def write_at(self, file: int, at: int, data: bytes | memoryview) -> int:
        return os.pwrite(file, data, at)

    def truncate(self, file: int, size: int = 0) -> None:
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def sync_data(self, file: int) -> None:
        os.fdatasync(file)

    def sync_directory(self, directory: int) -> None:
        os.fsync(directory)

    def rename(self, directory: int, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def link(self, directory: int, old: str, new: str) -> None:
        os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def unlink(self, directory: int, name: str) -> None:
        os.unlink(name, dir_fd=directory)

    def lock(self, file: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self, file: int) -> None:
        os.close(file)


REAL = RealFileSystem()


NO_PROGRESS = "no byte was written, and the system gave no reason"
NO_FILE = "is not a regular file"


def _require_regular(file: int, name: str) -> int:
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(f"{name} {NO_FILE}")


# -- combined operations --------------------------------------------------------------


def read_all(files: FileSystem, file: int, *, bytes_max: int) -> bytes:
    """Return the rest of a file, or its first `bytes_max` + 1 bytes if it is larger."""
    data = b""
    while len(data) <= bytes_max:
        more = files.read(file, min(1 << 20, bytes_max + 1 - len(data)))
        if not more:
            break
        data += more
    return data


def write_all(files: FileSystem, file: int, data: bytes) -> None:
    """Write all of `data`, in several steps if the system takes less at once."""
    rest = data
    while rest:
        written = files.write(file, rest)
        if written <= 0:
            # There was no error and no progress, so another try might never end.
            raise OSError(NO_PROGRESS)
        rest = rest[written:]


def read_range(files: JournalFileSystem, file: int, at: int, length: int) -> bytes:
    """Return `length` bytes of an open file from `at` on; fewer at its end."""
    first = files.read_at(file, at, length)
    if len(first) == length or not first:
        return first
    pieces, got = [first], len(first)
    while got < length and (piece := files.read_at(file, at + got, length - got)):
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


def write_range(files: JournalFileSystem, file: int, at: int, data: bytes) -> None:
    """Write all of `data` into an open file, from `at` on."""
    done = 0
    while done < len(data):
        rest = memoryview(data)[done:] if done else data
        written = files.write_at(file, at + done, rest)
        if written <= 0:
            raise OSError(NO_PROGRESS)
        done += written


def remove(files: FileSystem, directory: int, *names: str) -> None:
    """Remove names that no process needs; if the disk refuses, the next start removes them."""
    for name in names:
        with suppress(OSError):
            files.unlink(directory, name)


def make_directories(
    files: FileSystem, path: Path, mode: int = 0o755, *, above: bool = False
) -> None:
    """Make a directory durably; an existing directory stays unchanged.

    `above`: make the missing directories above it, too.  The name of an existing directory is
    synced as well: a process that made it may have been killed before its sync, and if the name is
    lost, all files below it are lost.  The directories above an existing directory are taken to be
    durable.
    """
    try:
        let_go(files, files.open_directory(path))
    except FileNotFoundError:
        if above and path != path.parent:
            make_directories(files, path.parent, above=True)
    try:
        directory = files.open_directory(path.parent)
    except PermissionError:
        let_go(files, files.open_directory(path))  # it exists, and its parent may not be read
        return
    try:
        with suppress(FileExistsError):
            files.make_directory(directory, path.name, mode)
        files.sync_directory(directory)
    finally:
        let_go(files, directory)


@define
class Progress:
    """The progress of a write: the current operation, and whether readers may see new data."""

    step: str = "nothing"
    may_show: bool = False


def replace(
    files: FileSystem,
    directory: int,
    name: str,
    data: bytes,
    progress: Progress,
    *,
    shows: bool,
    prefix: str = "",
) -> None:
    """Replace the file `name` by `data`; this is durable after the next `sync_directory`.

    `shows`: readers see the new content from the rename on; `prefix`: the beginning of the
    temporary file's name, "" for `name`.  Raises `OSError`, and may leave the temporary file;
    `Record.recover` removes the temporary files of a record.
    """
    temporary = f"{prefix or name}.{token_hex(8)}.tmp"
    progress.step = f"creating {temporary}"
    file = files.create(directory, temporary)
    with _closing(files, file, progress, temporary):
        progress.step = f"writing {temporary}"
        write_all(files, file, data)
        progress.step = f"fsync of {temporary}"
        files.sync(file)
    progress.step = f"renaming {temporary} to {name}"
    progress.may_show = progress.may_show or shows
    files.rename(directory, temporary, name)


def put(files: FileSystem, path: Path, data: bytes) -> None:
    """Write the file at `path` whole and durably; raises `StoreWriteFailed`."""
    progress = Progress()
    try:
        directory = files.open_directory(path.parent)
        try:
            replace(files, directory, path.name, data, progress, shows=True)
            files.sync_directory(directory)
        finally:
            let_go(files, directory)
    except OSError as error:
        raise StoreWriteFailed(
            f"{path}: {progress.step}: {reason(error)}", next="stop the process, and mend the disk"
        ) from error


def put_new(files: FileSystem, path: Path, data: bytes) -> None:
    """Create the file at `path` with `data`, durably.

    Raises `FileExistsError`, or another `OSError` after removing the file again.  A crash may leave
    a part of the file, so its readers must notice a file that is not whole.
    """
    directory = files.open_directory(path.parent)
    try:
        file = files.create(directory, path.name)
        try:
            with _closing(files, file, Progress(), path.name):
                write_all(files, file, data)
                files.sync(file)
            files.sync_directory(directory)
        except BaseException:
            remove(files, directory, path.name)
            raise
    finally:
        let_go(files, directory)


@contextmanager
def _closing(files: FileSystem, file: int, progress: Progress, name: str) -> Iterator[None]:
    """Close the file at the end.  An error of the close does not hide an earlier error."""
    try:
        yield
    except BaseException:
        try:
            files.close(file)
        except OSError as second:
            progress.step += f" (and closing it: {reason(second)})"
        raise
    progress.step = f"closing {name}"
    files.close(file)


def reason(error: OSError) -> str:
    """Return why an operation failed, without the file's name, which the caller adds."""
    return error.strerror or str(error) or type(error).__name__


def let_go(files: FileSystem, *opened: int) -> None:
    """Close files or directories that were only read or locked; ignore errors of the system.

    A negative number stands for a file that was never opened, and is skipped.
    """
    for file in opened:
        if file >= 0:
            with suppress(OSError):
                files.close(file)
