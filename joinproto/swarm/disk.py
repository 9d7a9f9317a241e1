"""A disk in memory that keeps only the guaranteed data, for random runs and for tests of
durability.

It guarantees less than most disks do:

* A write is on the disk once its file was synced.  Before that, any part of it may be there: cut at
  any byte, without its beginning, as zeros, or not at all.  Writes of one file may come in any
  order.
* A name stands for its file at the last sync of the directory, or at any time since; each name
  independently.  After a rename, both names may be there.
* Any call may fail.  A failed write may have been done in part.  After a failed sync, the data is
  shown, but never comes to the disk unless it is written again, although the next sync succeeds, as
  under Linux (PostgreSQL calls it "fsyncgate").  The file system's own journal keeps sizes and
  names, and tries them again.
* The disk may be full: see `Disk.capacity`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import reduce
from itertools import count
from pathlib import Path
from random import Random

from attrs import Factory, define, field


@define(eq=False)
class Node:
    """A file.  `shown`: its bytes as read; `kept`: the bytes that are surely on the disk;
    `waiting`: writes and sizes since the last sync.
    """

    shown: bytearray = Factory(bytearray)
    kept: bytearray = Factory(bytearray)
    waiting: list[tuple[int, bytes] | int] = Factory(list)

    def put(self, at: int, data: bytes) -> None:
        lay(self.shown, at, data)
        self.waiting.append((at, data))


@define(eq=False)
class Folder:
    """A directory, with its names in place of bytes."""

    shown: dict[str, Node | Folder] = Factory(dict)
    kept: dict[str, Node | Folder] = Factory(dict)
    waiting: list[tuple[str, Node | Folder | None]] = Factory(list)

    def put(self, name: str, item: Node | Folder | None) -> None:
        self.waiting.append((name, item))
        self.shown.pop(name, None)
        if item is not None:
            self.shown[name] = item


def lay(content: bytearray, at: int, data: bytes) -> None:
    """Write `data` into a file's bytes at `at`; zeros fill the space after the former end."""
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


@define(eq=False)
class _Open:
    item: Node | Folder
    at: int = 0


@define(eq=False)
class _Outage:
    """The contents of a disk as a loss of power leaves them; `keeps`: see `Disk.copied`."""

    chance: Random
    steady: frozenset[str]
    keeps: Callable[[], bool]
    made: dict[int, Node | Folder] = Factory(dict)

    def folder(self, old: Folder) -> Folder:
        new = self.made[id(old)] = Folder()
        names = dict(old.kept)
        for name, item in old.waiting:
            if self.keeps():
                names.pop(name, None)
                if item is not None:
                    names[name] = item
        new.shown = {name: self._item(item, name in self.steady) for name, item in names.items()}
        new.kept = dict(new.shown)
        return new

    def _item(self, old: Node | Folder, is_steady: bool) -> Node | Folder:
        if id(old) in self.made:
            return self.made[id(old)]
        if is_steady:
            self.made[id(old)] = deepcopy(old)
        elif isinstance(old, Folder):
            return self.folder(old)
        else:
            kept = self._torn(old)
            self.made[id(old)] = Node(bytearray(kept), kept)
        return self.made[id(old)]

    def _torn(self, old: Node) -> bytearray:
        found = bytearray(old.kept)
        for one in old.waiting:
            if isinstance(one, int):
                if self.keeps():
                    resize(found, one)
                continue
            at, data = one
            cuts = sorted(
                self.chance.randint(0, len(data)) for _ in range(self.chance.choice((0, 1, 2)))
            )
            for begin, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
                if self.keeps():
                    lay(found, at + begin, data[begin:end])
        if len(found) < len(old.shown) and old.waiting and self.keeps():
            resize(found, self.chance.randint(len(found), len(old.shown)))
        return found


READS = {
    *("open_directory", "open_directory_in", "names", "open_to_read", "is_same"),
    *("read", "size", "read_at", "lock", "close"),
}
"""The operations that change nothing on the disk."""


@define(eq=False)
class Disk:
    """A disk in memory, which implements the product's `JournalFileSystem`.

    `before`: called with the name of each call.  `fails_in`: the number of calls before one that
    fails with `code`, None for never.  `fails_at`: the next call of this name fails.  `capacity`:
    the bytes that fit on the disk, None for no limit.  `failed`: names of the calls that have
    failed.  `never_opened`: file numbers that were used while no file was open under them.
    `short`: the share of writes that are done in part.  `steady`: names of files whose writes are
    never lost.
    """

    chance: Random
    root: Folder = Factory(Folder)
    before: Callable[[str], None] = field(default=lambda _: None)
    fails_in: int | None = None
    fails_at: str = ""
    code: int = errno.EIO
    capacity: int | None = None
    failed: list[str] = Factory(list)
    never_opened: list[int] = Factory(list)
    short: float = 0.1
    steady: frozenset[str] = frozenset()
    _open: dict[int, _Open] = Factory(dict)
    _numbers: Iterator[int] = Factory(lambda: count(3))
    _locks: dict[int, int] = Factory(dict)  # handle -> id of its file

    # -- events ------------------------------------------------------------------------------------

    def process_ends(self) -> None:
        """Close the open files; no data is lost."""
        self._open.clear()
        self._locks.clear()
        self.fails_in = None
        self.fails_at = ""
        self.capacity = None

    def copied(self, keeps: Callable[[], bool] | None = None) -> Disk:
        """Return another disk with the contents after the end of the process.

        `keeps`: None if the process was killed, so all data is there.  Otherwise the power was
        lost, and `keeps` is called for each part of the unsynced data: is this part kept?
        """
        after = Disk(self.chance, short=self.short, steady=self.steady)
        if keeps is None:
            after.root = deepcopy(self.root)
        else:
            after.root = _Outage(self.chance, self.steady, keeps).folder(self.root)
        return after

    def files(self) -> Iterator[tuple[str, Node]]:
        """Yield all files with their paths."""
        todo = [("", self.root)]
        while todo:
            path, folder = todo.pop()
            for name, item in sorted(folder.shown.items()):
                if isinstance(item, Folder):
                    todo.append((f"{path}/{name}", item))
                else:
                    yield f"{path}/{name}", item

    def make(self, path: Path) -> None:
        """Make a directory and its parents, durably."""
        folder = self.root
        for name in path.parts[1:]:
            below = folder.shown.get(name)
            if not isinstance(below, Folder):
                below = folder.shown[name] = folder.kept[name] = Folder()
            folder = below

    # -- the seam ----------------------------------------------------------------------------------

    def _call(self, name: str) -> None:
        self.before(name)
        if self.fails_at == name:
            self.fails_at, self.fails_in = "", 0
        if self.fails_in is not None:
            self.fails_in -= 1
            if self.fails_in < 0:
                self.fails_in = None
                self.failed.append(name)
                raise _error(self.code)

    def open_directory(self, path: Path) -> int:
        self._call("open_directory")
        return self._opened(self._walk(path))

    def open_directory_in(self, directory: int, name: str) -> int:
        self._call("open_directory_in")
        return self._opened(_child(self._in(directory), name))

    def make_directory(self, directory: int, name: str, mode: int = 0o755) -> None:
        self._call("make_directory")
        self._require_absent(directory, name)
        self._in(directory).put(name, Folder())

    def names(self, directory: int) -> list[str]:
        self._call("names")
        return sorted(self._in(directory).shown)

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        self._call("create")
        self._require_absent(directory, name)
        made = Node()
        self._in(directory).put(name, made)
        return self._opened(made)

    def open_to_read(self, directory: int, name: str) -> int:
        self._call("open_to_read")
        return self._opened(self._file(directory, name))

    def open_to_update(self, directory: int, name: str, mode: int = 0o640) -> int:
        self._call("open_to_update")
        if name not in self._in(directory).shown:
            self._in(directory).put(name, Node())
        return self._opened(self._file(directory, name))

    def is_same(self, directory: int, name: str, file: int) -> bool:
        self._call("is_same")
        return self._in(directory).shown.get(name) is self._of(file).item

    def read(self, file: int, count: int) -> bytes:
        self._call("read")
        opened = self._of(file)
        data = bytes(self._node(file).shown[opened.at : opened.at + count])
        opened.at += len(data)
        return data

    def write(self, file: int, data: bytes) -> int:
        opened = self._of(file)
        written = self._written("write", self._node(file), opened.at, data)
        opened.at += written
        return written

    def size(self, file: int) -> int:
        self._call("size")
        return len(self._node(file).shown)

    def read_at(self, file: int, at: int, count: int) -> bytes:
        self._call("read_at")
        return bytes(self._node(file).shown[at : at + count])

    def write_at(self, file: int, at: int, data: bytes | memoryview) -> int:
        return self._written("write_at", self._node(file), at, bytes(data))

    def truncate(self, file: int, size: int = 0) -> None:
        self._call("truncate")
        node = self._node(file)
        resize(node.shown, size)
        node.waiting.append(size)

    def sync(self, file: int) -> None:
        self._synced("sync", self._node(file))

    def sync_data(self, file: int) -> None:
        self._synced("sync_data", self._node(file))

    def sync_directory(self, directory: int) -> None:
        self._call("sync_directory")
        folder = self._in(directory)
        folder.kept = dict(folder.shown)
        folder.waiting.clear()

    def rename(self, directory: int, old: str, new: str) -> None:
        self._call("rename")
        item = self._file(directory, old)
        self._in(directory).put(new, item)
        self._in(directory).put(old, None)

    def link(self, directory: int, old: str, new: str) -> None:
        self._call("link")
        self._require_absent(directory, new)
        self._in(directory).put(new, self._file(directory, old))

    def unlink(self, directory: int, name: str) -> None:
        self._call("unlink")
        self._file(directory, name)
        self._in(directory).put(name, None)

    def lock(self, file: int, *, shared: bool) -> bool:
        self._call("lock")
        if id(self._node(file)) in self._locks.values():
            return False
        self._locks[file] = id(self._node(file))
        return True

    def close(self, file: int) -> None:
        self._of(file)
        self._locks.pop(file, None)
        del self._open[file]
        self._call("close")

    # -- small parts -------------------------------------------------------------------------------

    def _of(self, file: int) -> _Open:
        """Return the open file with this number.

        A number that is not open is recorded in `never_opened`, and raises `OSError`.
        """
        if file not in self._open:
            self.never_opened.append(file)
            raise _error(errno.EBADF)
        return self._open[file]

    def _written(self, name: str, node: Node, at: int, data: bytes) -> int:
        try:
            self._call(name)
        except BaseException:  # the call fails, or the process dies in it
            node.put(at, data[: int(self.chance.random() * (len(data) + 1))])
            raise
        if self.capacity is not None:
            free = max(0, self.capacity - sum(len(one.shown) for _, one in self.files()))
            fits = max(0, len(node.shown) - at) + free
            if fits < len(data):
                if fits == 0:
                    self.failed.append(name)
                    raise _error(errno.ENOSPC)
                data = data[:fits]
        if len(data) > 1 and self.chance.random() < self.short:
            data = data[: self.chance.randint(1, len(data))]  # a short write
        node.put(at, data)
        return len(data)

    def _synced(self, name: str, node: Node) -> None:
        try:
            self._call(name)
        except OSError:
            node.waiting = [one for one in node.waiting if isinstance(one, int)]
            raise
        for one in node.waiting:
            if isinstance(one, int):
                resize(node.kept, one)
            else:
                lay(node.kept, *one)
        node.waiting.clear()

    def _walk(self, path: Path) -> Folder:
        return reduce(_child, path.parts[1:], self.root)

    def _opened(self, item: Node | Folder) -> int:
        number = next(self._numbers)
        self._open[number] = _Open(item)
        return number

    def _in(self, directory: int) -> Folder:
        item = self._of(directory).item
        assert isinstance(item, Folder)
        return item

    def _node(self, file: int) -> Node:
        item = self._of(file).item
        assert isinstance(item, Node)
        return item

    def _file(self, directory: int, name: str) -> Node:
        item = self._in(directory).shown.get(name)
        if not isinstance(item, Node):
            raise _error(errno.ENOENT)
        return item

    def _require_absent(self, directory: int, name: str) -> None:
        if name in self._in(directory).shown:
            raise _error(errno.EEXIST)


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def _child(folder: Folder, name: str) -> Folder:
    item = folder.shown.get(name)
    if item is None:
        raise _error(errno.ENOENT)
    if isinstance(item, Node):
        raise _error(errno.ENOTDIR)
    return item


def resize(content: bytearray, size: int) -> None:
    """Cut a file's bytes to this size, or fill them up with zeros."""
    del content[size:]
    content.extend(bytes(size - len(content)))
