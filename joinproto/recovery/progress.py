"""The progress of reading, on standard error: the logs of some products have gigabytes.

A line is shown after `AFTER_SECONDS` of reading.  On a terminal it is updated in place; elsewhere
each update is a new line.  Standard output is not used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from joinproto.durable.filesystem import REAL, JournalFileSystem, RealFileSystem

AFTER_SECONDS = 1.5
EVERY_SECONDS = {True: 0.2, False: 5.0}
"""Seconds between two updates, on a terminal (True) and elsewhere."""

NAME_CHARACTERS_MAX = 48
MEGABYTE = 1_000_000


class Progress(RealFileSystem):
    """The disks of this machine; it shows the file that is read, and how much of it was read."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._now = now
        self._in_place = stream.isatty()
        self._due = now() + AFTER_SECONDS
        self._width = 0
        self._total = 0
        self._files: dict[int, tuple[str, int, int]] = {}

    def open_to_read(self, directory: int, name: str) -> int:
        file = super().open_to_read(directory, name)
        self._files[file] = name, self.size(file), 0
        return file

    def read(self, file: int, count: int) -> bytes:
        data = super().read(file, count)
        name, size, at = self._files.get(file, ("", 0, 0))
        self._note(file, name, size, at + len(data), len(data))
        return data

    def read_at(self, file: int, at: int, count: int) -> bytes:
        data = super().read_at(file, at, count)
        name, size, _ = self._files.get(file, ("", 0, 0))
        self._note(file, name, size, at + len(data), len(data))
        return data

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._in_place and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
        self._width = 0

    def _note(self, file: int, name: str, size: int, at: int, count: int) -> None:
        self._files[file] = name, size, at
        self._total += count
        now = self._now()
        if now < self._due:
            return
        self._due = now + EVERY_SECONDS[self._in_place]
        shown = name.encode("ascii", "replace").decode()[-NAME_CHARACTERS_MAX:]
        text = f"reading {shown}: {_megabytes(at)} of {_megabytes(size)} MB"
        text += f"; {_megabytes(self._total)} MB read in all"
        if self._in_place:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.1f}"


@contextmanager
def files_with_progress(stream: TextIO | None) -> Iterator[JournalFileSystem]:
    """Give the disks to read from, with progress on `stream`; without progress if it is None."""
    if stream is None:
        yield REAL
        return
    progress = Progress(stream)
    try:
        yield progress
    finally:
        progress.clear()
