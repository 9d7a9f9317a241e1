"""Where a store's frames really end: the journal of joinproto's own log, read and left alone.

A host writes positions into the metadata only now and then; beside each frame it writes them
always.  So where there is a journal (`joinproto/log/journal.py`), it says how far the store is.
Of other brokers' frames nothing is known here: their operators say it with --position.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from zlib import crc32

from attrs import evolve, frozen

from joinproto.core.chain.malformed import Malformed
from joinproto.core.chain.store import StoreRecord
from joinproto.core.chain.view import Position
from joinproto.log.journal import _BODY, _HEAD, _MAGIC, FILE, FRAME_BYTES_MAX, Run, _durable_behind
from joinproto.store.filesystem import FileSystem, let_go, reason

__all__ = ["FILE", "Journal", "Run", "look_at_journal", "with_frames"]

CHUNK_BYTES = 4 << 20


@frozen
class Journal:
    """What a journal holds: runs of frames, in order.  `problem`: why it cannot be believed."""

    runs: tuple[Run, ...] = ()
    problem: str = ""

    @property
    def last(self) -> Position | None:
        return Position(self.runs[-1].view, self.runs[-1].last) if self.runs else None

    def holds(self, position: Position) -> bool:
        return any(
            run.view == position.view and run.first <= position.seq <= run.last for run in self.runs
        )


def look_at_journal(files: FileSystem, directory: int) -> Journal | None:
    """Return what the journal in an open data directory holds, None: there is none."""
    try:
        file = files.open_to_read(directory, FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Journal(problem=reason(error))
    try:
        return _surveyed(files, file)
    except OSError as error:
        return Journal(problem=reason(error))
    finally:
        let_go(files, file)


def _surveyed(files: FileSystem, file: int) -> Journal | None:
    runs: list[Run] = []
    end = last = 0
    for view, seq, after in _records(files, file):
        if seq != last + 1:
            return Journal(problem=f"byte {end}: frame {seq} behind frame {last}")
        if runs and runs[-1].view == view:
            runs[-1] = Run(view, runs[-1].first, seq)
        else:
            runs.append(Run(view, seq, seq))
        end, last = after, seq
    size = os.fstat(file).st_size
    if end == 0 and size > 0 and os.pread(file, len(_MAGIC), 0) != _MAGIC:
        return None  # somebody else's file of this name
    if end < size and _durable_behind(file, end, size) > end:
        return Journal(problem=f"byte {end}: a damaged frame, which a later one calls durable")
    # Else what is behind the last whole frame is a torn tail that nobody was told of.
    return Journal(tuple(runs))


def _records(files: FileSystem, file: int) -> Iterator[tuple[str, int, int]]:
    """Yield view, number and end of each frame, up to the first one that is not whole."""
    held = bytearray()
    start = at = 0  # of what is held, and of the next record, from the beginning of the file
    while True:
        while len(held) - (at - start) >= _HEAD.size + _BODY.size:
            magic, length, checksum = _HEAD.unpack_from(held, at - start)
            if magic != _MAGIC or not _BODY.size <= length <= _BODY.size + FRAME_BYTES_MAX:
                return
            body = at - start + _HEAD.size
            if len(held) < body + length:
                break
            if crc32(memoryview(held)[body : body + length]) != checksum:
                return
            view, seq, _ = _BODY.unpack_from(held, body)
            at += _HEAD.size + length
            yield view.hex(), seq, at
        held, start = held[at - start :], at
        more = files.read(file, CHUNK_BYTES)
        if not more:
            return
        held += more


def with_frames(record: StoreRecord, journal: Journal | None) -> tuple[StoreRecord, str]:
    """Return the record with the position that its journal shows, and what is wrong with it."""
    if journal is None or record.update_unfinished:
        return record, ""  # its data counts for nothing until it is updated again
    if journal.problem:
        return record, f"{FILE}: {journal.problem}"
    if record.position is not None and not journal.holds(record.position):
        ends = "none" if journal.last is None else str(journal.last.seq)
        return record, (
            f"{FILE}: does not hold frame {record.position.seq}, which the metadata knows of, and"
            f" ends at {ends}: frames were lost"
        )
    try:
        return evolve(record, position=journal.last), ""
    except Malformed as malformed:
        return record, f"{FILE}: {malformed}"
