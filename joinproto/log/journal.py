"""The journal: frames of a log on disk, one after the other, each with its view and number.

    frames.log      record, record, ...
    record          magic, length, checksum; then view, seq, how much was durable before, data

A write that was not durable when the power failed leaves a torn tail, which is cut at the next
start: nobody was told of it.  Each record says up to where the file was durable when it was
written.  So a damaged record that a later one calls durable is no torn tail, and is refused.
"""

from __future__ import annotations

import logging
import os
import struct
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from zlib import crc32

from attrs import define, evolve, field, frozen

from joinproto.core.chain.malformed import Malformed
from joinproto.core.chain.store import StoreRecord
from joinproto.core.chain.view import Position
from joinproto.errors import MisuseError, StoreCorrupt, StoreUnreadable, StoreWriteFailed

log = logging.getLogger(__name__)

FILE = "frames.log"
FRAME_BYTES_MAX = 2**20
"""Longest data of one frame."""

SAY_FRAMES = 2**16
SAY_SECONDS = 2.0
"""A node that reads its journal says so about as often."""

RECENT_FRAMES = 4_096
RECENT_BYTES = 8 * 2**20

_MAGIC = b"jpF1"
_HEAD = struct.Struct(">4sII")  # magic, length of what follows, its checksum
_BODY = struct.Struct(">32sQQ")  # view, seq, bytes that were durable before


@frozen
class Frame:
    """One entry of the log."""

    view: str
    seq: int
    data: bytes

    @property
    def position(self) -> Position:
        return Position(self.view, self.seq)


@frozen
class Run:
    """Consecutive frames of one view, `first` to `last`."""

    view: str
    first: int
    last: int


@frozen(kw_only=True)
class Survey:
    """What a journal's file holds, whoever asks.

    `offsets`: of frame 1, 2, ...  `end`: behind the last whole frame; what follows up to `size`
    is a torn tail that nobody was told of.  `problem`: why none of it can be believed, "" if
    it can.
    """

    runs: tuple[Run, ...] = ()
    offsets: array[int] = field(factory=lambda: array("Q"), repr=False)
    end: int = 0
    size: int = 0
    problem: str = ""


@define
class Journal:
    """The open file.  Frames are numbered from 1, without a gap.  For one thread at a time."""

    path: Path
    _file: int = -1
    _offsets: array[int] = field(factory=lambda: array("Q"))  # of frame 1, 2, ...
    _end: int = 0
    _durable: int = 0
    _runs: list[Run] = field(factory=list)
    _broken: str = ""
    _recent: deque[Frame] = field(factory=deque)  # the last ones, as they were written
    _recent_bytes: int = 0
    cut_bytes: int = 0  # of a torn tail, at the opening

    @classmethod
    def open(cls, directory: Path) -> Journal:
        """Return the journal in a data directory, made where there is none.

        Raises `StoreCorrupt` for a damage in what was durable, `StoreUnreadable`.
        """
        journal = cls(directory / FILE)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            journal._file = os.open(journal.path, flags, 0o640)
            journal._load()
            journal._sync_directory()
        except OSError as error:
            journal.close()
            raise StoreUnreadable(
                f"{journal.path}: cannot be opened: {error.strerror or error}",
                next="look at the permissions and at the disk",
            ) from error
        except BaseException:
            journal.close()
            raise
        return journal

    def close(self) -> None:
        """Close the file; what `append` returned from is on the disk already."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    # -- what is there -------------------------------------------------------------------------

    @property
    def last(self) -> Position | None:
        """Return the last frame, None: there is none."""
        return _last(self._runs)

    @property
    def last_seq(self) -> int:
        return len(self._offsets)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return all frames, as runs of one view each."""
        return tuple(self._runs)

    def holds(self, position: Position | None) -> bool:
        """Return whether this very frame is here; nothing is everywhere."""
        return position is None or holds(self._runs, position)

    def read(self, first: int, *, bytes_max: int = FRAME_BYTES_MAX) -> list[Frame]:
        """Return frames from `first` on, about so many bytes, at least one if it is there."""
        frames = self.recent(first, bytes_max=bytes_max)
        if frames:
            return frames
        size = 0
        for seq in range(first, self.last_seq + 1):
            start = self._offsets[seq - 1]
            length = (self._offsets[seq] if seq < self.last_seq else self._end) - start
            if frames and size + length > bytes_max:
                break
            frame = _parsed(_read_at(self._file, start, length))
            if frame is None or frame[0].seq != seq:
                raise StoreCorrupt(
                    f"{self.path}: frame {seq} is not as it was written",
                    next="end this member; its disk changes what was written",
                )
            frames.append(frame[0])
            size += length
        return frames

    def recent(self, first: int, *, bytes_max: int = FRAME_BYTES_MAX) -> list[Frame]:
        """Return the same without touching the disk; nothing where it is not so lately written."""
        skip = first - (self.last_seq - len(self._recent) + 1)
        frames: list[Frame] = []
        size = 0
        if skip < 0:
            return frames
        for frame in islice(self._recent, skip, None):
            size += len(frame.data) + _HEAD.size + _BODY.size
            if frames and size > bytes_max:
                break
            frames.append(frame)
        return frames

    # -- changing it ---------------------------------------------------------------------------

    def append(self, frames: Sequence[Frame]) -> None:
        """Return once the frames are on the disk, behind the others, in one fsync."""
        self._require_usable()
        records, offsets, end = [], [], self._end
        for number, frame in enumerate(frames, start=self.last_seq + 1):
            if frame.seq != number or len(frame.data) > FRAME_BYTES_MAX:
                raise MisuseError(
                    f"{self.path}: frame {frame.seq} of {len(frame.data)} bytes, expected frame"
                    f" {number} of {FRAME_BYTES_MAX} at most",
                    next="append frames in order, and refuse long ones before",
                )
            record = _record(frame, self._durable)
            records.append(record)
            offsets.append(end)
            end += len(record)
        try:
            _write_at(self._file, self._end, b"".join(records))
            os.fdatasync(self._file)
        except OSError as error:
            raise self._failed("appending", error) from error
        self._offsets.extend(offsets)
        self._end = self._durable = end
        for frame in frames:
            self._count(frame)
        self._recent.extend(frames)
        self._recent_bytes += sum(len(frame.data) for frame in frames)
        while len(self._recent) > RECENT_FRAMES or self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= len(self._recent.popleft().data)

    def cut(self, last_seq: int) -> None:
        """Remove all frames behind this one, durably."""
        self._require_usable()
        if last_seq >= self.last_seq:
            return
        end = self._offsets[last_seq]
        try:
            os.ftruncate(self._file, end)
            os.fdatasync(self._file)
        except OSError as error:
            raise self._failed("cutting", error) from error
        while self._recent and self._recent[-1].seq > last_seq:
            self._recent_bytes -= len(self._recent.pop().data)
        del self._offsets[last_seq:]
        self._end = self._durable = end
        kept = [run for run in self._runs if run.first <= last_seq]
        if kept:
            kept[-1] = Run(kept[-1].view, kept[-1].first, min(kept[-1].last, last_seq))
        self._runs = kept

    def _count(self, frame: Frame) -> None:
        if self._runs and self._runs[-1].view == frame.view:
            self._runs[-1] = Run(frame.view, self._runs[-1].first, frame.seq)
        else:
            self._runs.append(Run(frame.view, frame.seq, frame.seq))

    def _require_usable(self) -> None:
        if self._broken:
            raise StoreWriteFailed(
                f"{self.path}: writes no more: {self._broken}", next="end this process"
            )

    def _failed(self, doing: str, error: OSError) -> StoreWriteFailed:
        # After a failed fsync nobody knows what is on the disk; a second one would prove nothing.
        self._broken = f"{doing}: {error.strerror or error}"
        return StoreWriteFailed(
            f"{self.path}: {self._broken}\n  on disk: {self.last_seq} frames, and perhaps a tail"
            " that nobody was told of",
            next="end this process, look at the disk, then start it again",
        )

    # -- opening -------------------------------------------------------------------------------

    def _load(self) -> None:
        found = survey(self._file, said=self._say_how_far)
        if found.problem:
            raise StoreCorrupt(
                f"{self.path}: {found.problem}\n  nothing was changed",
                next="do not start it; give the member an empty directory, to be updated by others",
            )
        self._offsets, self._runs = found.offsets, list(found.runs)
        self.cut_bytes = found.size - found.end
        if self.cut_bytes:
            os.ftruncate(self._file, found.end)
        # What was read may be in memory only: it is on the disk before anybody hears of it.
        os.fsync(self._file)
        self._end = self._durable = found.end

    def _say_how_far(self, frames: int, at: int, size: int) -> None:
        log.info("%s: %d frames read, %d %%", self.path, frames, 100 * at // size)

    def _sync_directory(self) -> None:
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


# -- reading -----------------------------------------------------------------------------------


PIECE_BYTES = 4 << 20


def survey(
    file: int,
    *,
    piece_bytes: int = PIECE_BYTES,
    said: Callable[[int, int, int], None] | None = None,
) -> Survey:
    """Return what an open journal holds; nothing is changed.  Raises `OSError`.

    A member begins with this, and the recovery tool judges by it: so both see the same.
    `said`: is told about every `SAY_SECONDS` how many frames were read, up to which byte, of
    how many.
    """
    size = os.fstat(file).st_size
    views: list[tuple[bytes, int]] = []  # with the first frame of each run
    offsets = array("Q")
    end = last = 0
    told = time.monotonic()
    for view, seq, after in _whole_records(file, size, piece_bytes):
        if seq != last + 1:
            return Survey(
                end=end, size=size, problem=f"byte {end}: frame {seq} behind frame {last}"
            )
        if not views or views[-1][0] != view:
            views.append((view, seq))
        offsets.append(end)
        end, last = after, seq
        if said is not None and not seq % SAY_FRAMES and time.monotonic() - told > SAY_SECONDS:
            told = time.monotonic()
            said(seq, end, size)
    if end < size and _durable_behind(file, end, size) > end:
        problem = f"byte {end}: a damaged frame, which a later one calls durable"
        return Survey(end=end, size=size, problem=problem)
    lasts = [*(first - 1 for _, first in views[1:]), last]
    runs = tuple(
        Run(view.hex(), first, until) for (view, first), until in zip(views, lasts, strict=False)
    )
    return Survey(runs=runs, offsets=offsets, end=end, size=size)


def _whole_records(file: int, size: int, piece_bytes: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield view, number and end of each record, up to the first one that is not whole."""
    # No frame is copied: a restart reads millions of these.
    held = b""
    start = at = 0  # of what is held, and of the next record, from the beginning of the file
    while more := _read_at(file, start + len(held), min(piece_bytes, size - start - len(held))):
        held, start = held[at - start :] + more, at
        whole, known = memoryview(held), len(held)
        place = 0
        while known - place >= _HEAD.size + _BODY.size:
            magic, length, checksum = _HEAD.unpack_from(held, place)
            if magic != _MAGIC or not _BODY.size <= length <= _BODY.size + FRAME_BYTES_MAX:
                return
            body = place + _HEAD.size
            if known - body < length:
                break
            if crc32(whole[body : body + length]) != checksum:
                return
            view, seq, _ = _BODY.unpack_from(held, body)
            place = body + length
            at = start + place
            yield view, seq, at


def start_from(
    record: StoreRecord, runs: Sequence[Run] | None, *, is_torn: bool = False
) -> tuple[StoreRecord, str]:
    """Return the record with the position of the journal, and why no member may start from it.

    A member opens its directory by this, and the recovery tool judges directories by it.
    `runs`: of the journal, None: there is no journal; `is_torn`: behind them was a part of a
    frame.  The second is "" where one may.
    """
    if record.update_unfinished:
        # A cut had begun; older versions marked every update, which has the same data.  It is
        # a part of the chain at each moment, unless frames of it were torn.
        if runs is None or is_torn:
            return record, ""  # its data counts for nothing until it is updated again
        whole, problem = _ending_at(evolve(record, update_unfinished=False), runs)
        return (record if problem else whole), ""
    if runs is None:
        # The journal is made before a member learns of any view.
        is_new = record.tip is None and record.position is None
        return record, "" if is_new else "is not there, and the metadata is that of a member"
    if record.position is not None and not holds(runs, record.position):
        last = _last(runs)
        ends = "none" if last is None else str(last.seq)
        return record, (
            f"does not hold frame {record.position.seq}, which the metadata knows of, and ends at"
            f" {ends}: frames were lost"
        )
    return _ending_at(record, runs)


def _ending_at(record: StoreRecord, runs: Sequence[Run]) -> tuple[StoreRecord, str]:
    try:
        return evolve(record, position=_last(runs)), ""
    except Malformed as malformed:
        return record, str(malformed)


def _last(runs: Sequence[Run]) -> Position | None:
    return Position(runs[-1].view, runs[-1].last) if runs else None


def holds(runs: Sequence[Run], position: Position) -> bool:
    """Return whether this very frame is among them."""
    return any(run.view == position.view and run.first <= position.seq <= run.last for run in runs)


# -- records -----------------------------------------------------------------------------------


def _record(frame: Frame, durable: int) -> bytes:
    body = _BODY.pack(bytes.fromhex(frame.view), frame.seq, durable) + frame.data
    return _HEAD.pack(_MAGIC, len(body), crc32(body)) + body


def _parsed(raw: bytes) -> tuple[Frame, int, int] | None:
    """Return the frame at the start of `raw`, its length, and what was durable; None: no frame."""
    if len(raw) < _HEAD.size + _BODY.size:
        return None
    magic, length, checksum = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or length < _BODY.size or len(body) < length or crc32(body) != checksum:
        return None
    view, seq, durable = _BODY.unpack_from(body)
    return Frame(view.hex(), seq, body[_BODY.size :]), _HEAD.size + length, durable


_LONGEST = _HEAD.size + _BODY.size + FRAME_BYTES_MAX


def _durable_behind(file: int, at: int, size: int) -> int:
    """Return up to where a whole record behind `at` says that the file was durable, or 0."""
    found = 0
    while at < size:
        held = _read_at(file, at, 4 * _LONGEST)
        place = held.find(_MAGIC)
        while place >= 0:
            record = _parsed(held[place : place + _LONGEST])
            found = max(found, record[2] if record else 0)
            place = held.find(_MAGIC, place + 1)
        # A record that begins in the last stretch is looked at again, from its beginning.
        at += max(len(held) - _LONGEST, 1) if at + len(held) < size else len(held)
    return found


def _read_at(file: int, at: int, length: int) -> bytes:
    pieces = []
    while length > 0 and (piece := os.pread(file, length, at)):
        pieces.append(piece)
        at += len(piece)
        length -= len(piece)
    return b"".join(pieces)


def _write_at(file: int, at: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, at)
        at += written
        rest = rest[written:]
