"""Bytes at a place of an open file: all that were asked for, whatever the system gives at once."""

from __future__ import annotations

import os
from pathlib import Path


def read_at(file: int, at: int, length: int) -> bytes:
    """Return these bytes of an open file, fewer at its end."""
    first = os.pread(file, length, at)
    if len(first) == length or not first:
        return first
    pieces = [first]
    got = len(first)
    while got < length and (piece := os.pread(file, length - got, at + got)):
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


def write_at(file: int, at: int, data: bytes) -> None:
    """Write all of `data` at this place of an open file."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, at)
        at += written
        rest = rest[written:]


def sync_directory(path: Path) -> None:
    """Return once the names in a directory are on the disk."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
