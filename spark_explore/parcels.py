"""Rows on their way to their owners: through Spark, or in files where all is on one machine.

Spark copies what it exchanges six times, which is more work than finding it.  On one machine a
file is there for all, and Spark carries its name alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from attrs import frozen

from joinproto.check.engine.shapes import Rows

FOLDER = "parcels"
_PIECE_BYTES = 1 << 21


@frozen
class Parcel:
    """`size` bytes of rows in a file, from `begin` on."""

    path: str
    begin: int
    size: int

    def rows(self, words: int) -> Rows:
        found = np.fromfile(self.path, np.uint64, self.size // 8, offset=self.begin)
        return found.reshape(-1, words)


Content = bytes | Parcel


def sent(parts: Iterable[tuple[int, Rows]], folder: Path | None) -> Iterator[tuple[int, Content]]:
    """Yield each owner with its rows, in files of `folder`; None means as they are."""
    if folder is not None:
        # Under a name of its own: a step that runs again sends again.
        path = folder / secrets.token_hex(16)
        found = []
        # Not `tofile`: on a full disk that says how many rows it wrote, and not why.
        with path.open("wb") as file:
            for owner, rows in parts:
                found.append((owner, Parcel(str(path), file.tell(), rows.nbytes)))
                file.write(np.ascontiguousarray(rows).data)
        yield from found
        return
    for owner, rows in parts:
        piece = max(1, _PIECE_BYTES // (8 * rows.shape[1]))
        for begin in range(0, len(rows), piece):
            yield owner, rows[begin : begin + piece].tobytes()


def received(content: Content, words: int) -> Rows:
    """Return the rows that were sent."""
    if isinstance(content, Parcel):
        return content.rows(words)
    return np.frombuffer(content, np.uint64).reshape(-1, words)


def forget(folder: Path) -> None:
    """Remove all that was sent; no job may be running."""
    for path in folder.glob("*"):
        path.unlink(missing_ok=True)
