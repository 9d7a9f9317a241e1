"""A directory with large files: a reader asks for pieces, so no whole file is in memory.

A reader of such a format is a pure function from a `Tree` to its facts.  The facts go into a
`RawFile` as JSON, because gigabytes are not carried to another machine.  Tests use a `Tree` of
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from attrs import define, field

from joinproto.durable.filesystem import JournalFileSystem, let_go, read_range, reason
from joinproto.recovery.foreign.text import Facts, NotAsWritten, unpacked
from joinproto.recovery.found import Found, Raw, State

PIECE_BYTES = 1 << 20
BLANK = bytes(PIECE_BYTES)


class Tree(Protocol):
    """Files below a directory; names are relative, with `/`.  Each call raises `NotAsWritten`."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder, sorted; [] if it is missing."""

    def size(self, name: str) -> int | None:
        """Return how many bytes a file has, None if it is missing."""

    def read(self, name: str, at: int, count: int) -> bytes:
        """Return `count` bytes from `at`, fewer at the end of the file."""


@contextmanager
def opened_folder(files: JournalFileSystem, directory: int, folder: str) -> Iterator[int]:
    """Open a folder below an open directory; "" gives the directory itself; raises `OSError`."""
    opened: list[int] = []
    try:
        for part in filter(None, folder.split("/")):
            above = opened[-1] if opened else directory
            opened.append(files.open_directory_in(above, part))
        yield opened[-1] if opened else directory
    finally:
        let_go(files, *opened)


@define
class DiskTree:
    """Files below an open directory.  Links are refused; no file is written or locked."""

    files: JournalFileSystem
    directory: int
    _file: tuple[str, int] | None = field(default=None, init=False)

    def names(self, folder: str) -> Sequence[str]:
        try:
            with opened_folder(self.files, self.directory, folder) as place:
                return sorted(self.files.names(place))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise NotAsWritten(f"{folder}: {reason(error)}") from error

    def size(self, name: str) -> int | None:
        try:
            return self.files.size(self._open(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotAsWritten(f"{name}: {reason(error)}") from error

    def read(self, name: str, at: int, count: int) -> bytes:
        try:
            return read_range(self.files, self._open(name), at, count)
        except OSError as error:
            raise NotAsWritten(f"{name}: {reason(error)}") from error

    def close(self) -> None:
        if self._file is not None:
            let_go(self.files, self._file[1])
            self._file = None

    def _open(self, name: str) -> int:
        if self._file is not None and self._file[0] == name:
            return self._file[1]
        self.close()
        folder, _, last = name.rpartition("/")
        with opened_folder(self.files, self.directory, folder) as place:
            self._file = (name, self.files.open_to_read(place, last))
        return self._file[1]


def pieces(tree: Tree, name: str, at: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from `at` to `end`, in pieces."""
    while at < end and (piece := tree.read(name, at, min(PIECE_BYTES, end - at))):
        yield piece
        at += len(piece)


def is_blank(tree: Tree, name: str, at: int, end: int) -> bool:
    """Return whether a file has only zeros from `at` to `end`."""
    return all(piece == BLANK[: len(piece)] for piece in pieces(tree, name, at, end))


def reader(
    kind: type[Facts], program: str, name: str, found_of: Callable[[Raw, Facts], Found]
) -> Callable[[Raw], Found]:
    """Return the function `read` for a format whose facts a `Raw` carries in the file `name`.

    `found_of`: makes a `Found` of the facts.  `program`: the program's name, for messages.
    """

    def read(raw: Raw) -> Found:
        """Return the meaning of the collected facts; never raises, whatever the bytes are."""
        file = raw.file(name)
        if file.data is None:
            said = file.problem or f"no data of {program} is here"
            return Found.of(raw, State.UNREADABLE, said)
        try:
            facts = unpacked(kind, file.data)
        except NotAsWritten as error:
            return Found.of(raw, State.CORRUPT, str(error))
        return found_of(raw, facts)

    return read
