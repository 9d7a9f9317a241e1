"""Rows in a file that is mapped into memory, for more rows than memory holds.

The kernel writes the file while a search continues, and reads back the pages that are used.  Only
the pages in use take memory: `let_go` gives all of them back.  The disk's blocks are allocated
before rows are written, because a full disk ends a process that writes to mapped memory.

A file holds the rows of one layout.  Rows that are packed again go to another file, so the file
that a checkpoint names stays unchanged (`joinproto/check/engine/checkpoint.py`).
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import secrets
from pathlib import Path

import numpy as np
from attrs import define, field

from joinproto.check.engine.shapes import Rows
from joinproto.check.memory import LimitMet
from joinproto.errors import EnvironmentProblem

NAME = "rows-*.bin"

_BYTES_MIN = 1 << 20
_BYTES_MORE_MAX = 1 << 28
"""A file grows by a quarter of its size, but by no more than this, unless more rows are wanted."""

_PIECE = 1 << 24
"""This many bytes are hashed at once."""

_PIECES = 2
"""After this many hashed pieces, their memory is given back."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk."""
_CANNOT_ALLOCATE = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""The errors of a file system that cannot allocate blocks in advance."""


@define
class _Digest:
    """The hash of the first `bytes` of the file `name`."""

    name: str = ""
    bytes: int = 0
    hash: hashlib.blake2b = field(factory=lambda: hashlib.blake2b(digest_size=32))


@define
class RowFiles:
    """The files of rows in one folder, of which one is in use.

    `name`: the name of the file in use.  `words`: the number of words of its rows.
    """

    folder: Path
    name: str = ""
    words: int = 1
    _map: mmap.mmap | None = field(init=False, default=None)
    # The map of the previous file, whose rows are being packed again into the present one.
    _older: mmap.mmap | None = field(init=False, default=None)
    _bytes: int = field(init=False, default=0)
    _digest: _Digest = field(init=False, factory=_Digest)

    def fresh(self, words: int, least: int) -> Rows:
        """Use a new file with room for `least` rows; return its rows: uint64, shape (row, word).

        Raises `EnvironmentProblem` if the file cannot be created: the search cannot continue.
        """
        self.name, self.words = f"rows-{secrets.token_hex(4)}.bin", words
        self._bytes, self._older = 0, self._map
        try:
            (self.folder / self.name).touch(exist_ok=False)
            return self.grown(least)
        except (OSError, LimitMet) as error:
            raise EnvironmentProblem(
                f"a file for {least:,} states cannot be made in {self.folder}: {error}",
                next="free some space there; the same command goes on from the last checkpoint",
            ) from error

    def opened(self, name: str, words: int) -> Rows:
        """Use the file of that name; return all rows that it has room for."""
        self.name, self.words = name, words
        self._bytes, self._older = (self.folder / name).stat().st_size, None
        return self._mapped()

    def grown(self, least: int) -> Rows:
        """Extend the file to at least `least` rows; return its rows.  Written rows stay.

        Raises `LimitMet` if the disk has no room.
        """
        wanted = max(_BYTES_MIN, 8 * self.words * least)
        wanted = max(wanted, self._bytes + min(self._bytes // 4, _BYTES_MORE_MAX))
        wanted += -wanted % mmap.PAGESIZE
        try:
            with (self.folder / self.name).open("r+b") as opened:
                _take_blocks(opened.fileno(), self._bytes, wanted)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise LimitMet(f"no space left in {self.folder}") from error
        self._bytes = wanted
        return self._mapped()

    def _mapped(self) -> Rows:
        with (self.folder / self.name).open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), self._bytes)
        count = self._bytes // (8 * self.words)
        return np.frombuffer(self._map, np.uint64, count * self.words).reshape(count, self.words)

    def digest(self, count: int) -> str:
        """Return the hash of the first `count` rows, in hexadecimal.

        Rows do not change, so a later call reads only the rows that the last one did not hash.
        """
        end = 8 * self.words * count
        if self._digest.name != self.name or self._digest.bytes > end:
            self._digest = _Digest(self.name)
        if self._map is not None:
            with memoryview(self._map) as held:
                for begin in range(self._digest.bytes, end, _PIECE):
                    self._digest.hash.update(held[begin : min(end, begin + _PIECE)])
                    if begin // _PIECE % _PIECES == _PIECES - 1:
                        self.let_go()
        self._digest.bytes = end
        return self._digest.hash.hexdigest()

    def sync(self) -> None:
        """Write all rows to the disk; return when that is done."""
        if self._map is not None:
            self._map.flush()
        with (self.folder / self.name).open("r+b") as opened:
            os.fsync(opened.fileno())

    def let_go(self) -> bool:
        """Give back the memory of all pages; they are read again when they are looked at.

        Returns whether the system can do that.
        """
        if self._map is None or not hasattr(mmap, "MADV_DONTNEED"):
            return False
        for mapped in (self._map, self._older):
            if mapped is not None:
                mapped.madvise(mmap.MADV_DONTNEED)
        return True

    def remove_others(self) -> None:
        """Remove the files that are not in use."""
        for path in self.folder.glob(NAME):
            if path.name != self.name:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove all files; arrays that are still held stay valid."""
        self._map = self._older = None
        self.name = ""
        self.remove_others()


def _take_blocks(number: int, begin: int, end: int) -> None:
    """Extend an open file from `begin` to `end` bytes, all of them allocated on disk."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(number, begin, end - begin)
            return
        except OSError as error:
            if error.errno not in _CANNOT_ALLOCATE:
                raise
    os.truncate(number, end)
