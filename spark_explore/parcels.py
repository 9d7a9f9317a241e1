"""Rows that are sent to their owners, through Spark or, on one machine, in files.

Spark copies exchanged rows six times, which is more work than finding them.  On one machine
all processes can open a file, so Spark carries only its name.  On a cluster it carries the rows,
packed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from attrs import frozen

from joinproto.check.engine.shapes import Rows
from spark_explore.arrays import packed, unpacked

FOLDER = "parcels"
_PIECE_BYTES = 1 << 21
_PACKED_BYTES = 1 << 14
"""Smaller pieces are not packed: that takes a fifth of a millisecond, and adds 800 bytes."""


@frozen
class Parcel:
    """Rows in a file: `size` bytes from `begin` on."""

    path: str
    begin: int
    size: int

    def rows(self, words: int) -> Rows:
        found = np.fromfile(self.path, np.uint64, self.size // 8, offset=self.begin)
        return found.reshape(-1, words)


@frozen
class Packed:
    """Rows in the form of `arrays.packed`."""

    content: bytes


Content = bytes | Packed | Parcel


def sent(parts: Iterable[tuple[int, Rows]], folder: Path | None) -> Iterator[tuple[int, Content]]:
    """Yield each owner with its rows, in a file of `folder`, or packed if `folder` is None."""
    if folder is not None:
        # A new name each time, because a step that runs again sends its rows again.
        path = folder / secrets.token_hex(16)
        found = []
        # Not `tofile`: its error for a full disk says how many rows it wrote, but not why.
        with path.open("wb") as file:
            for owner, rows in parts:
                found.append((owner, Parcel(str(path), file.tell(), rows.nbytes)))
                file.write(np.ascontiguousarray(rows).data)
        yield from found
        return
    for owner, rows in parts:
        piece = max(1, _PIECE_BYTES // (8 * rows.shape[1]))
        for begin in range(0, len(rows), piece):
            part = rows[begin : begin + piece]
            yield owner, part.tobytes() if part.nbytes < _PACKED_BYTES else Packed(packed(part))


def received(content: Content, words: int) -> Rows:
    if isinstance(content, Parcel):
        return content.rows(words)
    if isinstance(content, Packed):
        return unpacked(content.content)
    return np.frombuffer(content, np.uint64).reshape(-1, words)


def forget(folder: Path) -> None:
    """Remove all files with sent rows; no job may be running."""
    for path in folder.glob("*"):
        path.unlink(missing_ok=True)
