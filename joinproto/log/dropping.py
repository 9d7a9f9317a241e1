"""Dropping the first frames of a journal: a shorter journal is written, and replaces it.

    frames.floor        the snapshot that will replace the dropped frames
    frames.log.new      the bytes of this snapshot, then copies of all later frames

Each piece is copied between two steps of the log, and is on the disk before the next piece.  The
last pieces, with all frames that were appended meanwhile, are copied in one step with the rename.
So a crash leaves the whole journal or the shorter one, and the blocking part of a step is short.
Before the rename the metadata gets a format whose number earlier versions refuse.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator
from typing import ClassVar
from zlib import crc32

from attrs import define, field

from joinproto.durable.filesystem import let_go, read_range, remove
from joinproto.durable.journal.index import Index
from joinproto.durable.journal.journal import FILE, Journal, Replacement
from joinproto.durable.journal.records import Base, base_of
from joinproto.durable.journal.survey import read_stretch
from joinproto.host.ports import Work
from joinproto.log.pieces import PieceFile
from joinproto.log.snapshot import FLOOR, is_prefix

log = logging.getLogger(__name__)

NEW = f"{FILE}.new"
INDEX_NEW = "frames.index.new"
PIECE_BYTES = 128 << 10


def dropping(journal: Journal, before: Callable[[], None]) -> Iterator[Work]:
    """Yield the pieces of work that replace the frames in `frames.floor` by this snapshot.

    `before`: called on the worker before the journal is replaced.  A disk error before that is
    logged, and the journal stays as it is; a later disk error raises `StoreWriteFailed`.
    """
    copy = _Copy(journal)
    while not copy.problem and not copy.is_near:
        yield copy.go_on
    if not copy.problem:
        yield lambda: copy.finish(before)
    if copy.problem:
        log.warning("%s: no frame was dropped: %s", journal.path, copy.problem)
    else:
        log.info("frames up to %d are dropped", journal.first_seq - 1)


@define
class _Copy(PieceFile):
    """The shorter journal while it is written.  `is_near`: a single piece or less is left."""

    name: ClassVar[str] = NEW
    is_near: bool = False
    _source: int = -1
    _base: Base | None = None
    _next: int = 0
    _cuts: int = 0
    _offsets: array[int] = field(factory=lambda: array("Q"))
    _index: Index | None = None

    def go_on(self) -> None:
        """Copy the next piece."""
        with self.giving_up():
            self._go_on()

    def finish(self, before: Callable[[], None]) -> None:
        """Copy the remaining frames, and replace the journal."""
        with self.giving_up():
            self._go_on()
            while not self.problem and not self._is_all:
                self._go_on()
        if self.problem:
            return
        before()
        assert self._base is not None
        assert self._index is not None
        self.journal.replace_by(
            Replacement(
                name=NEW,
                file=self.file,
                base=self._base,
                runs=self.journal.runs,
                offsets=self._offsets,
                end=self.size,
                index=self._index,
            )
        )
        let_go(self.journal.files, self._source)
        remove(self.journal.files, self.journal.folder, FLOOR)

    @property
    def _is_all(self) -> bool:
        return self._next > self.journal.last_seq

    def _go_on(self) -> None:
        journal = self.journal
        if self._base is None:
            self._begin()
            return
        if self._cuts != journal.cuts:
            self.give_up("the journal was cut meanwhile")
            return
        if self.size < self._base.size:
            self.write(self._read(self.size, min(PIECE_BYTES, self._base.size - self.size)))
        elif not self._is_all:
            self._copy_frames()
        left = journal.size - journal.begins(self._next)
        self.is_near = self.size >= self._base.size and left <= PIECE_BYTES

    def _read(self, at: int, length: int) -> bytes:
        return read_range(self.journal.files, self._source, at, length)

    def _begin(self) -> None:
        files, folder, path = self.journal.files, self.journal.folder, self.journal.path
        self._cuts = self.journal.cuts
        self._source = files.open_to_read(folder, FLOOR)
        found = base_of(self._read)
        if isinstance(found, str) or not is_prefix(found.runs, self.journal.runs):
            self.give_up(f"{path.with_name(FLOOR)}: is damaged, or of another journal")
            return
        if found.last.seq < self.journal.first_seq:
            self.give_up(f"{path.with_name(FLOOR)}: replaces frames that are dropped already")
            return
        self._base, self._next = found, found.last.seq + 1
        self._index = Index.open(files, folder, path.with_name(INDEX_NEW))
        self._index.begin((), 0, start=found.size, first=self._next)

    def _copy_frames(self) -> None:
        assert self._index is not None
        assert self._base is not None
        journal = self.journal
        start = journal.begins(self._next)
        stretch, _ = read_stretch(journal.raw, start, self._next, journal.size, PIECE_BYTES)
        data = b"" if stretch is None else journal.raw(start, stretch.end - start)
        if stretch is None or crc32(data) != stretch.checksum:
            self.give_up(f"frame {self._next} is damaged")
            return
        moved = start - self.size
        self._offsets.extend(at - moved for at in stretch.offsets)
        self.write(data)
        self._next = stretch.last + 1
        self._index.add(data)
        if self._index.is_due(self.size):
            self._index.write_block(self.size, journal.runs, self._offsets, self._base.last.seq)

    def give_up(self, why: str) -> None:
        super().give_up(why)
        let_go(self.journal.files, self._source)
        self._source = -1
        if self._index is not None:
            self._index.close()
        remove(self.journal.files, self.journal.folder, INDEX_NEW)
