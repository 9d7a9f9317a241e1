"""The index of a journal: it describes stretches of whole records, so that a restart is faster.

    frames.index    block, block, ...
    block           magic, length, checksum; then one stretch of the journal: its place, its
                    checksum, its views, and where each record begins

Safety does not depend on the index.  A stretch counts only if the bytes of the journal still have
its checksum.  So a restart still reads each byte, but does not parse each record.  If the index is
missing, damaged, or of another journal, the records are parsed, which only takes time.  So it is
written without a sync, old blocks may follow the last block, and earlier versions may ignore it.
"""

from __future__ import annotations

import logging
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

from attrs import define, field

from joinproto.durable.filesystem import JournalFileSystem, let_go, read_range, reason
from joinproto.durable.journal.records import FRAME_BYTES_MAX, Run
from joinproto.durable.journal.survey import Read, Stretch

log = logging.getLogger(__name__)

FILE = "frames.index"
STRETCH_BYTES = 4 << 20
"""A block is written for about this many bytes of the journal."""

_MAGIC = b"jpX1"
_HEAD = struct.Struct("<4sII")  # magic, length and checksum of the rest
_BODY = struct.Struct("<QQQIII")  # start, end, first, checksum, count of views, of frames
_VIEW = struct.Struct("<32sQ")
_BLOCK_BYTES_MAX = 64 << 20


@define
class Index:
    """The open index, for one thread at a time.  After an error it is no longer used."""

    path: Path
    files: JournalFileSystem
    folder: int
    _file: int = -1
    # For each block: its last frame, and where it ends in the journal and in the index.
    _blocks: list[tuple[int, int, int]] = field(factory=list)
    # The next block's stretch up to now: its first byte, its first frame, and its checksum.
    _start: int = 0
    _first: int = 1
    _checksum: int = 0

    @classmethod
    def open(cls, files: JournalFileSystem, folder: int, path: Path) -> Index:
        """Return the index in the open directory `folder`, created if missing; never raises."""
        index = cls(path, files, folder)
        try:
            index._file = files.open_to_update(folder, path.name)
        except OSError as error:
            index.give_up(reason(error))
        return index

    def close(self) -> None:
        let_go(self.files, self._file)
        self._file = -1

    def give_up(self, why: str) -> None:
        """Log the reason `why`, close the index, and write no more."""
        log.warning("%s: %s; the next start reads each frame", self.path, why)
        self.close()

    # -- reading -------------------------------------------------------------------------------

    def stretches(self) -> Iterator[Stretch]:
        """Yield the stretches in the index, up to the first incomplete block."""
        at = 0
        while self._file >= 0:
            try:
                found = _block_at(self._read, at)
            except OSError as error:
                self.give_up(reason(error))
                return
            if found is None:
                return
            stretch, at = found
            self._blocks.append((stretch.last, stretch.end, at))
            yield stretch

    def _read(self, at: int, length: int) -> bytes:
        return read_range(self.files, self._file, at, length)

    # -- writing -------------------------------------------------------------------------------

    def begin(self, after: Sequence[Stretch], count: int, *, start: int, first: int) -> None:
        """Keep the first `count` blocks, and continue with the stretches `after` them.

        The last of these stretches is not written yet, because it may grow.  `start`, `first`: byte
        and number of the first frame of the journal.
        """
        del self._blocks[count:]
        self._start, self._first = self.cut(2**63, start=start, first=first)
        self._checksum = 0
        for at, stretch in enumerate(after, start=1):
            if at < len(after):
                self._write(stretch)
            else:
                self._checksum = stretch.checksum

    def add(self, data: bytes) -> None:
        """Add records that were appended to the journal to the checksum."""
        if self._file >= 0:
            self._checksum = crc32(data, self._checksum)

    def is_due(self, end: int) -> bool:
        """Return whether a journal that ends at the byte `end` has enough for a new block."""
        return self._file >= 0 and end - self._start >= STRETCH_BYTES

    def write_block(self, end: int, runs: Sequence[Run], offsets: array[int], dropped: int) -> None:
        """Write a block for the frames that no block has yet.

        `end`: the journal's end; `offsets`: where each frame after frame `dropped` begins.
        """
        last = dropped + len(offsets)
        views = [
            (bytes.fromhex(run.view), max(run.first, self._first))
            for run in runs
            if run.last >= self._first and run.first <= last
        ]
        self._write(
            Stretch(
                start=self._start,
                end=end,
                first=self._first,
                checksum=self._checksum,
                views=tuple(views),
                offsets=offsets[self._first - 1 - dropped :],
            )
        )

    def cut(self, last_seq: int, *, start: int, first: int) -> tuple[int, int]:
        """Forget the blocks with frames after `last_seq`; return where the other blocks end.

        The result is the byte and the number of the next frame.  If no block is left, these are
        `start` and `first`, where the journal begins.  The caller must call `begin` afterwards.
        """
        while self._blocks and self._blocks[-1][0] > last_seq:
            self._blocks.pop()
        if self._blocks:
            return self._blocks[-1][1], self._blocks[-1][0] + 1
        return start, first

    def rename(self, name: str) -> None:
        """Replace the index file `name` by this one, without a sync."""
        try:
            self.files.rename(self.folder, self.path.name, name)
        except OSError as error:
            self.give_up(reason(error))
        self.path = self.path.with_name(name)

    @property
    def count(self) -> int:
        """Return the number of blocks."""
        return len(self._blocks)

    def _write(self, stretch: Stretch) -> None:
        at = self._blocks[-1][2] if self._blocks else 0
        data = _block(stretch)
        try:
            written = 0 if self._file < 0 else self.files.write_at(self._file, at, data)
        except OSError as error:
            self.give_up(reason(error))
            return
        if written == len(data):
            self._blocks.append((stretch.last, stretch.end, at + len(data)))
            self._start, self._first, self._checksum = stretch.end, stretch.last + 1, 0
        elif self._file >= 0:
            self.give_up(f"only {written} of {len(data)} bytes of a block were written")


def _block(stretch: Stretch) -> bytes:
    offsets = stretch.offsets
    if sys.byteorder == "big":
        offsets = array("Q", offsets)
        offsets.byteswap()
    numbers = (stretch.start, stretch.end, stretch.first, stretch.checksum)
    body = b"".join(
        (
            _BODY.pack(*numbers, len(stretch.views), len(offsets)),
            *(_VIEW.pack(view, first) for view, first in stretch.views),
            offsets.tobytes(),
        )
    )
    return _HEAD.pack(_MAGIC, len(body), crc32(body)) + body


def _block_at(read: Read, at: int) -> tuple[Stretch, int] | None:
    head = read(at, _HEAD.size)
    if len(head) < _HEAD.size:
        return None
    magic, length, checksum = _HEAD.unpack(head)
    if magic != _MAGIC or not _BODY.size <= length <= _BLOCK_BYTES_MAX:
        return None
    body = read(at + _HEAD.size, length)
    if len(body) < length or crc32(body) != checksum:
        return None
    start, end, first, of_journal, views, frames = _BODY.unpack_from(body)
    place = _BODY.size + views * _VIEW.size
    if place + 8 * frames != length or not views or not frames:
        return None
    offsets = array("Q")
    offsets.frombytes(body[place:])
    if sys.byteorder == "big":
        offsets.byteswap()
    found = Stretch(
        start=start,
        end=end,
        first=first,
        checksum=of_journal,
        views=tuple(_VIEW.iter_unpack(body[_BODY.size : place])),
        offsets=offsets,
    )
    return found, at + _HEAD.size + length


assert STRETCH_BYTES > FRAME_BYTES_MAX
