"""A file system that records its calls, and versions of it that leave a step out.

The steps are done on a real disk, without waiting for it.  `crashes.py` computes from the diary
what a loss of power may leave.
"""

import os
from enum import Enum
from pathlib import Path

from attrs import frozen

from joinproto.durable.filesystem import RealFileSystem

DATA = "data"
FOLDER = "joinproto"


class Killed(BaseException):
    """The process ends here, and the machine continues."""


@frozen
class Named:
    """A name in a directory now leads to a file or a directory, or was removed (None)."""

    directory: str
    name: str
    inode: int | None


@frozen
class Written:
    """Bytes were added at the end of a file; None if it was emptied."""

    inode: int
    data: bytes | None


@frozen
class Synced:
    """All bytes of a file are on the disk."""

    inode: int


@frozen
class DirectorySynced:
    """All names of a directory are on the disk."""

    directory: str


@frozen
class Legal:
    """From here on, one of these outcomes must be found after a crash; None means no store."""

    outcomes: frozenset[object]


Operation = Named | Written | Synced | DirectorySynced | Legal


class Recording(RealFileSystem):
    """A real disk, with a diary of the operations.

    `chunk`: bytes that one write takes at most.  `kill_in`: how many changing operations are left
    until the process is killed; None if it lives.
    """

    def __init__(self, *, chunk: int = 1 << 30) -> None:
        self.diary: list[Operation] = []
        self.chunk = chunk
        self.kill_in: int | None = None
        self.inodes = 0
        self.names_now: dict[tuple[str, str], int] = {}
        self.directories: dict[int, str] = {}
        self.open_files: dict[int, int] = {}
        self.has_renamed = False

    def die(self) -> None:
        """End the process: close its files, and release its locks."""
        for file in (*self.open_files, *self.directories):
            os.close(file)
        self.open_files.clear()
        self.directories.clear()
        self.kill_in = None

    def _note(self, operation: Operation) -> None:
        if self.kill_in is not None:
            if self.kill_in == 0:
                raise Killed
            self.kill_in -= 1
        self.diary.append(operation)

    def _name(self, directory: str, name: str, inode: int | None) -> None:
        self._note(Named(directory, name, inode))
        if inode is None:
            del self.names_now[directory, name]
        else:
            self.names_now[directory, name] = inode

    def _new(self, directory: str, name: str) -> int:
        self._name(directory, name, self.inodes + 1)
        self.inodes += 1
        return self.inodes

    def open_directory(self, path: Path) -> int:
        file = super().open_directory(path)
        self.directories[file] = DATA
        return file

    def open_directory_in(self, directory: int, name: str) -> int:
        file = super().open_directory_in(directory, name)
        self.directories[file] = name
        return file

    def make_directory(self, directory: int, name: str, mode: int = 0o755) -> None:
        if (self.directories[directory], name) not in self.names_now:
            self._new(self.directories[directory], name)
        super().make_directory(directory, name, mode)

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        inode = self._new(self.directories[directory], name)
        file = super().create(directory, name, mode)
        self.open_files[file] = inode
        return file

    def open_to_read(self, directory: int, name: str) -> int:
        file = super().open_to_read(directory, name)
        self.open_files[file] = self.names_now[self.directories[directory], name]
        return file

    def open_to_update(self, directory: int, name: str, mode: int = 0o640) -> int:
        place = (self.directories[directory], name)
        if place not in self.names_now:
            self._new(*place)
        file = super().open_to_update(directory, name, mode)
        self.open_files[file] = self.names_now[place]
        self.has_renamed = False
        return file

    def write(self, file: int, data: bytes) -> int:
        self._note(Written(self.open_files[file], data[: self.chunk]))
        return super().write(file, data[: self.chunk])

    def truncate(self, file: int, size: int = 0) -> None:
        self._note(Written(self.open_files[file], None))
        super().truncate(file, size)

    def sync(self, file: int) -> None:
        self._note(Synced(self.open_files[file]))

    def sync_directory(self, directory: int) -> None:
        self._note(DirectorySynced(self.directories[directory]))

    def rename(self, directory: int, old: str, new: str) -> None:
        folder = self.directories[directory]
        # This is one step for the running system, but a disk may keep only one half of it.
        self._note(Named(folder, new, self.names_now[folder, old]))
        self.names_now[folder, new] = self.names_now.pop((folder, old))
        self.diary.append(Named(folder, old, None))
        super().rename(directory, old, new)
        self.has_renamed = True

    def unlink(self, directory: int, name: str) -> None:
        self._name(self.directories[directory], name, None)
        super().unlink(directory, name)

    def close(self, file: int) -> None:
        self.open_files.pop(file, None)
        self.directories.pop(file, None)
        super().close(file)


class LeftOut(Enum):
    """The step of writing that is left out."""

    NOTHING = "nothing"
    FILE_SYNC = "the fsync of the file"
    DIRECTORY_SYNC = "the fsync of the directory"
    RENAME = "the rename: the file is written in its place"
    SYNC_AT_OPENING = "the fsync of the record at opening"


class WithoutFileSync(Recording):
    def sync(self, file: int) -> None:
        pass


class WithoutDirectorySync(Recording):
    def sync_directory(self, directory: int) -> None:
        pass


class InPlace(Recording):
    """Writes over the old file, instead of alongside it."""

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        place = (self.directories[directory], name[: -len(".0123456789abcdef.tmp")])
        if place not in self.names_now:
            self._new(*place)
        self._note(Written(self.names_now[place], None))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(place[1], flags, 0o644, dir_fd=directory)
        self.open_files[file] = self.names_now[place]
        return file

    def rename(self, directory: int, old: str, new: str) -> None:
        pass


class WithoutSyncAtOpening(Recording):
    def sync_directory(self, directory: int) -> None:
        if self.has_renamed or self.directories[directory] == DATA:
            super().sync_directory(directory)


RECORDERS: dict[LeftOut, type[Recording]] = {
    LeftOut.NOTHING: Recording,
    LeftOut.FILE_SYNC: WithoutFileSync,
    LeftOut.DIRECTORY_SYNC: WithoutDirectorySync,
    LeftOut.RENAME: InPlace,
    LeftOut.SYNC_AT_OPENING: WithoutSyncAtOpening,
}
