"""The journal: frames of a log on disk, one after the other, each with its view and number.

    frames.log      base, record, record, ...     (`records.py`; most have no base)
    frames.index    the index, for a faster restart (`index.py`)

A write that was not durable when the power failed leaves a torn tail, which is cut at the next
start, because no process was told of these frames.  Each record says up to where the file was
durable when the record was written.  So a damaged record before this place is not a torn tail, and
the journal is refused.

The first frames may be dropped.  Then a base replaces them, with the state of the application after
the last dropped frame.  Their runs stay known, so that positions compare as before.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from attrs import define, evolve, field, frozen

from joinproto.durable.filesystem import (
    REAL,
    JournalFileSystem,
    let_go,
    read_range,
    reason,
    write_range,
)
from joinproto.durable.journal.index import FILE as INDEX
from joinproto.durable.journal.index import Index
from joinproto.durable.journal.records import (
    BODY,
    FRAME_BYTES_MAX,
    HEAD,
    PIECE_BYTES,
    Base,
    Frame,
    Run,
    parsed,
    record,
)
from joinproto.durable.journal.survey import (
    Stretch,
    Survey,
    holds,
    last_of,
    read_stretch,
    start_from,
    survey,
    too_short,
)
from joinproto.errors import MisuseError, StoreCorrupt, StoreUnreadable, StoreWriteFailed
from joinproto.join.view import Position

__all__ = [
    "FILE",
    "FRAME_BYTES_MAX",
    "Frame",
    "Journal",
    "Run",
    "Survey",
    "frames_bytes",
    "holds",
    "start_from",
    "survey",
    "too_short",
]

log = logging.getLogger(__name__)

FILE = "frames.log"
RECENT_FRAMES = 4_096
RECENT_BYTES = 8 * 2**20


@frozen(kw_only=True)
class Replacement:
    """Another journal, open and durable, that will replace this one.

    `name`: its file name, in the same directory.  `runs`: the runs of all its frames, dropped ones
    included.  `offsets`: where each frame after its base begins.  `end`: the byte after them.
    """

    name: str
    file: int
    base: Base
    runs: tuple[Run, ...]
    offsets: array[int]
    end: int
    index: Index


@define
class Journal:
    """The open journal.  Frames are numbered from 1, without a gap.  For one thread at a time."""

    path: Path
    files: JournalFileSystem = REAL
    folder: int = -1  # its directory
    _file: int = -1
    base: Base | None = None
    _dropped: int = 0  # number of the last frame that was dropped
    _offsets: array[int] = field(factory=lambda: array("Q"))  # of the frames after `_dropped`
    _end: int = 0
    _durable: int = 0
    _runs: list[Run] = field(factory=list)
    _fault: str = ""
    _recent: deque[Frame] = field(factory=deque)  # the last frames, as they were written
    _recent_bytes: int = 0
    _index: Index = field(init=False)
    cut_bytes: int = 0  # length of the torn tail that was cut at the opening
    cuts: int = 0  # how often frames were removed or replaced since then

    def __attrs_post_init__(self) -> None:
        self._index = Index(self.path.with_name(INDEX), self.files, self.folder)

    @classmethod
    def open(cls, directory: Path, *, durable: int = 0, files: JournalFileSystem = REAL) -> Journal:
        """Return the journal in a data directory; create it if it does not exist.

        All its frames are on the disk when this returns.  `durable`: the number of a frame that is
        known to have been on the disk; a journal without it is refused, and nothing is cut.  Raises
        `StoreCorrupt` for damage in the durable part, or `StoreUnreadable`.
        """
        journal = cls(directory / FILE, files)
        try:
            journal.folder = files.open_directory(directory)
            journal._file = files.open_to_update(journal.folder, FILE)
            journal._load(durable)
            files.sync_directory(journal.folder)
        except OSError as error:
            journal.close()
            raise StoreUnreadable(
                f"{journal.path}: cannot be opened: {reason(error)}",
                next="look at the permissions and at the disk",
            ) from error
        except BaseException:
            journal.close()
            raise
        return journal

    def close(self) -> None:
        """Close the files; frames for which `append` returned are on the disk already."""
        self._index.close()
        let_go(self.files, self._file, self.folder)
        self._file = self.folder = -1

    # -- contents -----------------------------------------------------------------------------

    @property
    def last(self) -> Position | None:
        """Return the position of the last frame, None if there is no frame."""
        return last_of(self._runs)

    @property
    def last_seq(self) -> int:
        return self._dropped + len(self._offsets)

    def read_bytes(self, at: int, length: int) -> bytes:
        """Return up to `length` bytes of the file from `at` on; raises `StoreUnreadable`."""
        try:
            return self.raw(at, length)
        except OSError as error:
            raise StoreUnreadable(
                f"{self.path}: cannot be read: {reason(error)}",
                next="end this process, look at the disk, then start it again",
            ) from error

    def raw(self, at: int, length: int) -> bytes:
        """Return the same bytes as `read_bytes`; raises `OSError`."""
        return read_range(self.files, self._file, at, length)

    def state(self) -> bytes:
        """Return the state of the application in the base, b"" if there is no base."""
        base = self.base
        return self.read_bytes(base.state_at, base.state_bytes) if base else b""

    @property
    def first_seq(self) -> int:
        """Return the number of the first frame that was not dropped, or of the next frame."""
        return self._dropped + 1

    @property
    def size(self) -> int:
        """Return how many bytes of the file are used."""
        return self._end

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return all frames, dropped ones included, as runs of one view each."""
        return tuple(self._runs)

    def holds(self, position: Position | None) -> bool:
        """Return whether the journal has the frame at `position`; True for None."""
        return position is None or holds(self._runs, position)

    def read(self, first: int, *, bytes_max: int = FRAME_BYTES_MAX) -> list[Frame]:
        """Return frames from `first` on: about `bytes_max` bytes, but at least one if it exists.

        Raises `MisuseError` for a dropped frame, `StoreCorrupt` or `StoreUnreadable` for a fault.
        """
        if first < self.first_seq:
            raise MisuseError(
                f"{self.path}: frame {first} was dropped", next="read from `first_seq` on"
            )
        frames = self.recent(first, bytes_max=bytes_max)
        if frames or first > self.last_seq:
            return frames
        # Read all these frames at once.
        start = self.begins(first)
        behind = bisect_right(self._offsets, start + bytes_max, first - self._dropped)
        last = max(first, self._dropped + behind - 1)
        if self._end <= start + bytes_max:
            last = self.last_seq
        held = self.read_bytes(start, self.begins(last + 1) - start)
        for seq in range(first, last + 1):
            at = self.begins(seq) - start
            frame = parsed(held[at : self.begins(seq + 1) - start])
            if frame is None or frame[0].seq != seq:
                raise StoreCorrupt(
                    f"{self.path}: frame {seq} is not as it was written",
                    next="end this member: its disk returns other bytes than were written",
                )
            frames.append(frame[0])
        return frames

    def recent(self, first: int, *, bytes_max: int = FRAME_BYTES_MAX) -> list[Frame]:
        """Return the same as `read` from memory; [] if frame `first` is not in memory."""
        skip = first - (self.last_seq - len(self._recent) + 1)
        frames, size = list[Frame](), 0
        if skip < 0:
            return frames
        for frame in islice(self._recent, skip, None):
            size += len(frame.data) + HEAD.size + BODY.size
            if frames and size > bytes_max:
                break
            frames.append(frame)
        return frames

    # -- changing it ---------------------------------------------------------------------------

    def append(self, frames: Sequence[Frame]) -> None:
        """Append the frames durably, with one fsync; their numbers must follow the last frame's."""
        self.require_usable()
        records, offsets, end = [], [], self._end
        for number, frame in enumerate(frames, start=self.last_seq + 1):
            if frame.seq != number or len(frame.data) > FRAME_BYTES_MAX:
                raise MisuseError(
                    f"{self.path}: frame {frame.seq} of {len(frame.data)} bytes, expected frame"
                    f" {number} of at most {FRAME_BYTES_MAX} bytes",
                    next="append frames in order, and refuse longer frames before that",
                )
            records.append(record(frame, self._durable))
            offsets.append(end)
            end += len(records[-1])
        data = b"".join(records)
        with self._changing("appending"):
            write_range(self.files, self._file, self._end, data)
            self.files.sync_data(self._file)
        self._offsets.extend(offsets)
        self._end = self._durable = end
        for frame in frames:
            _extend(self._runs, frame)
        self._index.add(data)
        if self._index.is_due(end):
            self._index.write_block(end, self._runs, self._offsets, self._dropped)
        self._recent.extend(frames)
        self._recent_bytes += sum(len(frame.data) for frame in frames)
        while len(self._recent) > RECENT_FRAMES or self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= len(self._recent.popleft().data)

    def cut(self, last_seq: int) -> None:
        """Remove all frames after `last_seq`, durably."""
        self.require_usable()
        if last_seq >= self.last_seq:
            return
        if last_seq < self._dropped:
            raise MisuseError(
                f"{self.path}: frames up to {self._dropped} were dropped, so it cannot end earlier",
                next="cut after them, or continue from another base",
            )
        end = self.begins(last_seq + 1)
        self.cuts += 1
        start, first = self._index.cut(last_seq, start=self._start, first=self.first_seq)
        with self._changing("cutting"):
            self.files.truncate(self._file, end)
            self.files.sync_data(self._file)
        while self._recent and self._recent[-1].seq > last_seq:
            self._recent_bytes -= len(self._recent.pop().data)
        del self._offsets[last_seq - self._dropped :]
        self._end = self._durable = end
        self._runs = [run for run in self._runs if run.first <= last_seq]
        if self._runs:
            self._runs[-1] = evolve(self._runs[-1], last=min(self._runs[-1].last, last_seq))
        self._index_from(start, first)

    def replace_by(self, other: Replacement) -> None:
        """Give the file of `other` this journal's name, durably, and continue in it.

        Raises `StoreWriteFailed`.
        """
        self.require_usable()
        with self._changing("taking the place of the former journal"):
            self.files.rename(self.folder, other.name, FILE)
            other.index.rename(INDEX)
            self.files.sync_directory(self.folder)
        let_go(self.files, self._file)
        self._index.close()
        self._file, self._index = other.file, other.index
        self.base, self._dropped = other.base, other.base.last.seq
        self._offsets, self._end, self._durable = other.offsets, other.end, other.end
        if other.runs != self.runs:
            self._runs = list(other.runs)
            self._recent.clear()
            self._recent_bytes = 0
            self.cuts += 1

    def begins(self, seq: int) -> int:
        """Return the byte where frame `seq` begins, or the journal's end for a later frame."""
        return self._offsets[seq - self._dropped - 1] if seq <= self.last_seq else self._end

    @property
    def _start(self) -> int:
        return 0 if self.base is None else self.base.size

    def _index_from(self, start: int, first: int) -> None:
        """Parse and index the records from the byte `start` and the frame `first` on."""
        rest: list[Stretch] = []
        try:
            while start < self._end:
                found, _ = read_stretch(self.raw, start, first, self._end)
                if found is None:
                    break
                rest.append(found)
                start, first = found.end, found.last + 1
        except OSError as error:
            self._index.give_up(reason(error))
        self._index.begin(rest, self._index.count, start=self._start, first=self.first_seq)

    def require_usable(self) -> None:
        """Raise `StoreWriteFailed` after a fault in a write."""
        if self._fault:
            raise StoreWriteFailed(
                f"{self.path}: writes no more: {self._fault}", next="end this process"
            )

    @contextmanager
    def _changing(self, doing: str) -> Iterator[None]:
        # After a failed fsync the contents of the disk are unknown, and a second fsync would prove
        # nothing.
        try:
            yield
        except OSError as error:
            self._fault = f"{doing}: {reason(error)}"
            raise StoreWriteFailed(
                f"{self.path}: {self._fault}\n  on disk: {self.last_seq} frames, and perhaps a"
                " tail that was never announced",
                next="end this process, look at the disk, then start it again",
            ) from error
        except BaseException as error:
            self._fault = f"{doing}: {type(error).__name__}"
            raise

    # -- opening -------------------------------------------------------------------------------

    def _load(self, durable: int) -> None:
        self._index = Index.open(self.files, self.folder, self.path.with_name(INDEX))
        size = self.files.size(self._file)
        stretches = self._index.stretches()
        found = survey(self.raw, size, index=stretches, report=partial(_log_progress, self.path))
        problem = found.problem or too_short(found.runs, durable)
        if problem:
            raise StoreCorrupt(
                f"{self.path}: {problem}\n  nothing was changed",
                next="do not start it; give the member an empty directory, to be updated by others",
            )
        self.base = found.base
        self._dropped = 0 if found.base is None else found.base.last.seq
        self._offsets, self._runs = found.offsets, list(found.runs)
        self.cut_bytes = found.size - found.end
        if self.cut_bytes:
            self.files.truncate(self._file, found.end)
        self._end = found.end
        _write_again(self)
        self._durable = found.end
        self._index.begin(
            found.stretches[found.indexed_count :],
            found.indexed_count,
            start=self._start,
            first=self.first_seq,
        )


def _extend(runs: list[Run], frame: Frame) -> None:
    """Add the next frame to `runs`."""
    if runs and runs[-1].view == frame.view:
        runs[-1] = Run(frame.view, runs[-1].first, frame.seq)
    else:
        runs.append(Run(frame.view, frame.seq, frame.seq))


def _write_again(journal: Journal) -> None:
    """Make the frames that were read durable before they are used; they may be in memory only."""
    # Otherwise: a process appends frames, its fsync fails, and the system drops the unwritten pages
    # but still shows the frames.  The next fsync succeeds without writing them.  So the last frame,
    # and all frames after the place up to which it says that the file was durable, are written
    # again.
    at = journal._start
    if journal.last_seq > journal._dropped:
        place = journal.begins(journal.last_seq)
        last = parsed(journal.raw(place, journal._end - place))
        at = max(at, min(place, last[2] if last else 0))
    while at < journal._end:
        data = journal.raw(at, min(PIECE_BYTES, journal._end - at))
        if not data:
            break
        write_range(journal.files, journal._file, at, data)
        at += len(data)
    journal.files.sync(journal._file)


def _log_progress(path: Path, frames: int, at: int, size: int) -> None:
    log.info("%s: %d frames read, %d %%", path, frames, 100 * at // size)


def frames_bytes(files: JournalFileSystem, directory: Path) -> int | None:
    """Return the bytes of a data directory's journal, None if it has none; raises `OSError`."""
    folder = files.open_directory(directory)
    try:
        if FILE not in files.names(folder):
            return None
        file = files.open_to_read(folder, FILE)
        try:
            return files.size(file)
        finally:
            let_go(files, file)
    finally:
        let_go(files, folder)
