"""The port to the file system: the few operations that a store's metadata needs.

Everything that touches the disk goes through here, so that a test can write down the
operations, leave one out, or let one fail.  Names are relative to an open directory:
nobody can put another directory in its place between two steps.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NOFOLLOW: a link in the place of a file would let somebody choose which file we write.
# O_NONBLOCK: a pipe in the place of a file would let us wait for ever.
PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileSystem(Protocol):
    """What the rest of this folder asks of a disk; every method may raise `OSError`.

    `directory` and `file` are file descriptors.
    """

    def open_directory(self, path: Path) -> int:
        """Open a directory; links on the way are followed."""

    def open_directory_in(self, directory: int, name: str) -> int:
        """Open a directory in a directory; a link is refused."""

    def make_directory(self, directory: int, name: str) -> None:
        """Make a directory; raises `FileExistsError` if there is something of this name."""

    def names(self, directory: int) -> list[str]:
        """Return what is in a directory, sorted."""

    def create(self, directory: int, name: str) -> int:
        """Open a file for writing that was not there before."""

    def open_to_read(self, directory: int, name: str) -> int:
        """Open a file for reading; a link is refused, and so is what is not a regular file."""

    def open_to_lock(self, directory: int, name: str) -> int:
        """Open a file for reading and writing, made if it is not there; a link is refused."""

    def is_same(self, directory: int, name: str, file: int) -> bool:
        """Return whether the name stands for the open file."""

    def read(self, file: int, count: int) -> bytes:
        """Return up to `count` bytes from where the last read ended; none at the end."""

    def write(self, file: int, data: bytes) -> int:
        """Write some of `data`, and return how many bytes."""

    def truncate(self, file: int) -> None:
        """Empty an open file."""

    def sync(self, file: int) -> None:
        """Return once the content of a file is on the disk."""

    def sync_directory(self, directory: int) -> None:
        """Return once the names in a directory are on the disk."""

    def rename(self, directory: int, old: str, new: str) -> None:
        """Give a file another name, in the place of the file that had it."""

    def unlink(self, directory: int, name: str) -> None:
        """Remove a name."""

    def lock(self, file: int, *, shared: bool) -> bool:
        """Take the lock of an open file; return False at once if another one has it."""

    def close(self, file: int) -> None:
        """Close a file or a directory; a lock goes with it."""


class RealFileSystem:
    """The port on this machine's disks."""

    def open_directory(self, path: Path) -> int:
        """Open a directory; links on the way are followed."""
        return os.open(path, DIRECTORY)

    def open_directory_in(self, directory: int, name: str) -> int:
        """Open a directory in a directory; a link is refused."""
        return os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)

    def make_directory(self, directory: int, name: str) -> None:
        """Make a directory; raises `FileExistsError` if there is something of this name."""
        os.mkdir(name, 0o755, dir_fd=directory)

    def names(self, directory: int) -> list[str]:
        """Return what is in a directory, sorted."""
        return sorted(os.listdir(directory))

    def create(self, directory: int, name: str) -> int:
        """Open a file for writing that was not there before."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN
        return os.open(name, flags, 0o644, dir_fd=directory)

    def open_to_read(self, directory: int, name: str) -> int:
        """Open a file for reading; a link is refused, and so is what is not a regular file."""
        return _regular(os.open(name, os.O_RDONLY | PLAIN, dir_fd=directory), name)

    def open_to_lock(self, directory: int, name: str) -> int:
        """Open a file for reading and writing, made if it is not there; a link is refused."""
        flags = os.O_RDWR | os.O_CREAT | PLAIN
        return _regular(os.open(name, flags, 0o644, dir_fd=directory), name)

    def is_same(self, directory: int, name: str, file: int) -> bool:
        """Return whether the name stands for the open file."""
        try:
            named = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(file))

    def read(self, file: int, count: int) -> bytes:
        """Return up to `count` bytes from where the last read ended; none at the end."""
        return os.read(file, count)

    def write(self, file: int, data: bytes) -> int:
        """Write some of `data`, and return how many bytes."""
        return os.write(file, data)

    def truncate(self, file: int) -> None:
        """Empty an open file."""
        os.ftruncate(file, 0)

    def sync(self, file: int) -> None:
        """Return once the content of a file is on the disk."""
        os.fsync(file)

    def sync_directory(self, directory: int) -> None:
        """Return once the names in a directory are on the disk."""
        os.fsync(directory)

    def rename(self, directory: int, old: str, new: str) -> None:
        """Give a file another name, in the place of the file that had it."""
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def unlink(self, directory: int, name: str) -> None:
        """Remove a name."""
        os.unlink(name, dir_fd=directory)

    def lock(self, file: int, *, shared: bool) -> bool:
        """Take the lock of an open file; return False at once if another one has it."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self, file: int) -> None:
        """Close a file or a directory; a lock goes with it."""
        os.close(file)


REAL = RealFileSystem()


NO_FILE = "is not a regular file"


def _regular(file: int, name: str) -> int:
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(f"{name} {NO_FILE}")


# -- what is made of the single operations -------------------------------------------------


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
    """Write all of `data`: the system may take less than it was given."""
    rest = data
    while rest:
        written = files.write(file, rest)
        if written <= 0:
            # No error and no progress: to go on would be to go on for ever.
            raise OSError("nothing was written, and no reason given")
        rest = rest[written:]


def reason(error: OSError) -> str:
    """Return why an operation failed, without the name, which the caller says better."""
    return error.strerror or str(error)


def let_go(files: FileSystem, file: int) -> None:
    """Close what was only read or locked: whatever the system says, it is closed after this."""
    with suppress(OSError):
        files.close(file)
