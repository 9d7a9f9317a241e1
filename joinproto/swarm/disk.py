"""A disk in memory: what was not synced may be lost, in part or in whole, when the power fails.

What is believed of it is less than what most disks keep: bytes of a file that was not synced may
be there in part; a name stands for what it stood for when its directory was synced, or for
anything since.  A process that is killed loses nothing.  It is a `FileSystem` of the store, for
one data directory.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

from attrs import define, field


@define(eq=False)
class _File:
    data: bytes = b""
    is_synced: bool = True


@define(eq=False)
class _Directory:
    names: dict[str, _File | _Directory] = field(factory=dict)
    # What each name may stand for after the power failed; where nothing is noted, as it is.
    older: dict[str, list[_File | _Directory | None]] = field(factory=dict)

    def put(self, name: str, item: _File | _Directory | None) -> None:
        """Let the name stand for `item`, None: for nothing, until the next sync in doubt."""
        self.older.setdefault(name, []).append(self.names.pop(name, None))
        if item is not None:
            self.names[name] = item


@define(eq=False)
class _Open:
    item: _File | _Directory
    at: int = 0


@define(eq=False)
class MemoryDisk:
    """The file system; `step` is called before each change, and may end the process by raising."""

    step: Callable[[], None] = field(default=lambda: None)
    _root: _Directory = field(factory=_Directory)
    _open: dict[int, _Open] = field(factory=dict)
    _numbers: count[int] = field(factory=lambda: count(3))
    _locked: set[int] = field(factory=set)

    def process_ends(self) -> None:
        """All that the process had open is closed."""
        self._open.clear()
        self._locked.clear()

    def power_fails(self, chance: Random) -> None:
        """Lose of what was not synced as much as chance will have it."""
        self._lose(self._root, chance)

    def _lose(self, directory: _Directory, chance: Random) -> None:
        for name, older in directory.older.items():
            stands = chance.choice([*older, directory.names.get(name)])
            directory.names.pop(name, None)
            if stands is not None:
                directory.names[name] = stands
        directory.older.clear()
        for item in directory.names.values():
            if isinstance(item, _Directory):
                self._lose(item, chance)
            elif not item.is_synced:
                cut = chance.randint(0, len(item.data))
                item.data = item.data[:cut] + bytes(chance.choice((0, len(item.data) - cut)))
                item.is_synced = True

    # -- the port ------------------------------------------------------------------------------

    def open_directory(self, path: Path) -> int:
        return self._opened(self._root)

    def open_directory_in(self, directory: int, name: str) -> int:
        item = self._in(directory).names.get(name)
        if item is None:
            raise FileNotFoundError(2, "No such file or directory")
        if isinstance(item, _File):
            raise NotADirectoryError(20, "Not a directory")
        return self._opened(item)

    def make_directory(self, directory: int, name: str, mode: int = 0o755) -> None:
        self.step()
        if name in self._in(directory).names:
            raise FileExistsError(17, "File exists")
        self._in(directory).put(name, _Directory())

    def names(self, directory: int) -> list[str]:
        return sorted(self._in(directory).names)

    def create(self, directory: int, name: str, mode: int = 0o644) -> int:
        self.step()
        if name in self._in(directory).names:
            raise FileExistsError(17, "File exists")
        made = _File()
        self._in(directory).put(name, made)
        return self._opened(made)

    def open_to_read(self, directory: int, name: str) -> int:
        return self._opened(self._file(directory, name))

    def open_to_update(self, directory: int, name: str, mode: int = 0o640) -> int:
        if name not in self._in(directory).names:
            return self.create(directory, name)
        return self.open_to_read(directory, name)

    def is_same(self, directory: int, name: str, file: int) -> bool:
        return self._in(directory).names.get(name) is self._open[file].item

    def read(self, file: int, count: int) -> bytes:
        opened, content = self._open[file], self._content(file)
        data = content.data[opened.at : opened.at + count]
        opened.at += len(data)
        return data

    def write(self, file: int, data: bytes) -> int:
        self.step()
        content = self._content(file)
        content.data += data
        content.is_synced = False
        return len(data)

    def truncate(self, file: int, size: int = 0) -> None:
        content = self._content(file)
        content.data, content.is_synced = content.data[:size], False

    def sync(self, file: int) -> None:
        self.step()
        self._content(file).is_synced = True

    def sync_directory(self, directory: int) -> None:
        self.step()
        self._in(directory).older.clear()

    def rename(self, directory: int, old: str, new: str) -> None:
        self.step()
        item = self._file(directory, old)
        self._in(directory).put(old, None)
        self._in(directory).put(new, item)

    def unlink(self, directory: int, name: str) -> None:
        self.step()
        self._file(directory, name)
        self._in(directory).put(name, None)

    def lock(self, file: int, *, shared: bool) -> bool:
        key = id(self._open[file].item)
        if key in self._locked:
            return False
        self._locked.add(key)
        return True

    def close(self, file: int) -> None:
        self._locked.discard(id(self._open.pop(file).item))

    # -- small parts ---------------------------------------------------------------------------

    def _opened(self, item: _File | _Directory) -> int:
        number = next(self._numbers)
        self._open[number] = _Open(item)
        return number

    def _in(self, directory: int) -> _Directory:
        item = self._open[directory].item
        assert isinstance(item, _Directory)
        return item

    def _content(self, file: int) -> _File:
        item = self._open[file].item
        assert isinstance(item, _File)
        return item

    def _file(self, directory: int, name: str) -> _File:
        item = self._in(directory).names.get(name)
        if not isinstance(item, _File):
            raise FileNotFoundError(2, "No such file or directory")
        return item
