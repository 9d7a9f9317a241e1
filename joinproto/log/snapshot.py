"""Snapshots: the state of the application after a committed frame, kept next to the journal.

    frames.snapshot     a base (`records.py`): runs up to that frame, kind and state
    frames.floor        a snapshot that is kept until it replaces dropped frames (`dropping.py`)

A restart takes the state from the snapshot, and applies only later frames.  When frames are
dropped, the bytes of a snapshot become the beginning of the journal.  A snapshot is written in
pieces between the steps of the log, under another name, and is renamed when it is on the disk.  So
a crash leaves the former snapshot or the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar
from zlib import crc32

from attrs import define, frozen

from joinproto.durable.filesystem import let_go, read_range, reason, remove, write_range
from joinproto.durable.journal.journal import Journal
from joinproto.durable.journal.records import (
    BASE_BYTES_MAX,
    HEAD,
    Run,
    base_head,
    base_line,
    base_of,
)
from joinproto.host.ports import Work
from joinproto.log.pieces import PieceFile

log = logging.getLogger(__name__)

FILE = "frames.snapshot"
FLOOR = "frames.floor"
NEW = "frames.snapshot.new"
PIECE_BYTES = 256 << 10


@frozen
class Snapshot:
    """The state of an application after the frame `last`."""

    last: int
    state: bytes


def load(journal: Journal, name: str, kind: str) -> Snapshot | None:
    """Return the snapshot in the file `name`, None if it is missing or cannot be used.

    A snapshot that cannot be used is logged: after an error of the disk, or if it is damaged, of
    another journal, or of another application than `kind`.
    """
    try:
        found = _load(journal, name, kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        found = reason(error)
    if isinstance(found, str):
        log.warning("%s: %s; it is left out", journal.path.with_name(name), found)
        return None
    return found


def making(
    journal: Journal,
    runs: Sequence[Run],
    kind: str,
    state: Iterator[bytes],
    *,
    is_floor: bool,
    when_made: Callable[[], None],
) -> Iterator[Work]:
    """Yield the pieces of work that make a new snapshot in the place of the former one.

    `runs`: the runs of all frames in the state.  `state`: its pieces, which are made on the worker.
    `is_floor`: keep the snapshot under the name of the floor as well.  `when_made`: called at the
    end.  A disk error is logged, the former snapshot stays, and `when_made` is not called.
    """
    writer = _Writer(journal)
    pieces = in_pieces(base_line(runs, kind), state)
    while not writer.problem and not writer.is_done:
        yield lambda: writer.go_on(pieces)
    if not writer.problem:
        yield lambda: writer.finish(is_floor=is_floor)
    if writer.problem:
        log.warning("%s: no snapshot was made: %s", journal.path.with_name(FILE), writer.problem)
    else:
        log.info("a snapshot after frame %d, %d bytes", runs[-1].last, writer.size - HEAD.size)
        when_made()


def _load(journal: Journal, name: str, kind: str) -> Snapshot | str:
    file = journal.files.open_to_read(journal.folder, name)
    try:
        read = partial(read_range, journal.files, file)
        base = base_of(read)
        if isinstance(base, str):
            return "is damaged"
        if not is_prefix(base.runs, journal.runs):
            return "is of frames that this journal does not have"
        if base.kind != kind:
            return f"is of application {base.kind!r}, this is {kind!r}"
        return Snapshot(base.last.seq, read(base.state_at, base.state_bytes))
    finally:
        let_go(journal.files, file)


@define
class _Writer(PieceFile):
    """A base while it is written into a file; its head is written last."""

    name: ClassVar[str] = NEW
    size: int = HEAD.size
    is_done: bool = False
    _checksum: int = 0

    def go_on(self, pieces: Iterator[bytes]) -> None:
        """Write the next piece durably."""
        with self.giving_up():
            piece = next(pieces, None)
            if piece is None:
                self.is_done = True
                return
            if self.size + len(piece) > HEAD.size + BASE_BYTES_MAX:
                raise OSError(f"the state is longer than {BASE_BYTES_MAX} bytes")
            self.write(piece)
            self._checksum = crc32(piece, self._checksum)

    def finish(self, *, is_floor: bool) -> None:
        """Write the head and rename the file, durably."""
        files, folder = self.journal.files, self.journal.folder
        with self.giving_up():
            write_range(files, self.file, 0, base_head(self.size - HEAD.size, self._checksum))
            files.sync(self.file)
            if is_floor:
                remove(files, folder, FLOOR)
                files.link(folder, NEW, FLOOR)
            files.rename(folder, NEW, FILE)
            files.sync_directory(folder)
            let_go(files, self.file)


def in_pieces(line: bytes, state: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the line and the state in pieces of `PIECE_BYTES`; the last may be shorter."""
    held = bytearray(line)
    for part in state:
        held += part
        while len(held) >= PIECE_BYTES:
            yield bytes(held[:PIECE_BYTES])
            del held[:PIECE_BYTES]
    if held:
        yield bytes(held)


def is_prefix(runs: Sequence[Run], longer: Sequence[Run]) -> bool:
    """Return whether the frames of `runs` are the first frames of `longer`; False without runs."""
    if not runs or len(runs) > len(longer):
        return False
    *whole, last = runs
    there = longer[len(whole)]
    begins = (there.view, there.first) == (last.view, last.first)
    return tuple(whole) == tuple(longer[: len(whole)]) and begins and last.last <= there.last
