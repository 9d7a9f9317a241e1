"""PostgreSQL's log (`pg_wal`), followed from one record to the next, on one timeline after another.

A file is a segment of the log and consists of pages of 8 kB.  Each page begins with a head that
names its place.  A record has its length, the place of the record before it, and a checksum.

Source: PostgreSQL, `access/xlogrecord.h`, `xlog_internal.h`, `xlogreader.c`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.foreign.tree import Tree

WAL = "pg_wal"
RECORD = struct.Struct("<IIQBBxxI")
PAGE = struct.Struct("<HHIQI")
RECORD_BYTES_MAX = 1 << 30
SWITCH = (0, 0x40)
BIRTH_RECORDS, PAGE_BYTES, PAGES_AHEAD = 4, 8192, 64


class _Overwritten(Exception):
    """A page says that the record before it was given up after a crash, and the log continues."""


class _LogEnds(NotAsWritten):
    """The log ends as after a crash: the rest of a record, or the next page, is missing."""


class Walk:
    """The log, from one record to the next.

    `timelines`: number of each timeline, and where it begins.  `checksum`: the last record's.
    """

    def __init__(
        self, tree: Tree, segment: int, system: str, timelines: Sequence[tuple[int, int]]
    ) -> None:
        self.tree = tree
        self.segment = segment
        self.system = int(system)
        begins = [0, *(left for _, left in timelines[:-1])]
        self.timelines = [
            (number, begin) for (number, _), begin in zip(timelines, begins, strict=True)
        ]
        self.names = set(tree.names(WAL))
        self.checksum = 0

    def end(self, at: int) -> tuple[int, str, bool]:
        """Return where the last whole record after `at` ends, why, and whether that is damage.

        The server writes whole pages, with zeros after the last record.  So other bytes in the rest
        of the page, or a whole record after a bad one, show that records are lost.  A crash leaves
        a record that continues in a page that was never written; this is no damage.
        """
        before = 0
        while True:
            try:
                start, following = self._record(at, before)
            except _Overwritten as found:
                before, at = 0, found.args[0]
                continue
            except NotAsWritten as error:
                rest = -at % PAGE_BYTES
                is_written = rest and any(self._peek(at, rest)) and not isinstance(error, _LogEnds)
                return at, str(error), bool(is_written) or self._record_follows(at)
            before, at = start, following

    def _record_follows(self, bad: int) -> bool:
        """Return whether there is a whole record after the place `bad`."""
        at = bad
        for _ in range(PAGES_AHEAD):
            page = self._peek(at, PAGE_BYTES - at % PAGE_BYTES)
            if len(page) < RECORD.size or (
                at % PAGE_BYTES == 0 and PAGE.unpack_from(page)[3] != at
            ):
                return False
            for offset in range(0, len(page) - RECORD.size + 1, 8):
                size, _, link, _, _, checksum = RECORD.unpack_from(page, offset)
                data = page[offset : offset + size]
                is_next = bad <= link < at + offset and RECORD.size <= size == len(data)
                if is_next and crc32c(data[:20], crc32c(data[24:])) == checksum:
                    return True
            at += len(page)
        return False

    def written(self, timeline: int) -> Iterator[int]:
        """Yield the segment's number for each file of a timeline that has been written to."""
        per = (1 << 32) // self.segment
        for name in self.names:
            if re.fullmatch(f"{timeline:08X}[0-9A-F]{{16}}", name):
                number = int(name[8:16], 16) * per + int(name[16:], 16)
                head = self.tree.read(f"{WAL}/{name}", 0, PAGE.size)
                if len(head) == PAGE.size and PAGE.unpack(head)[3] == number * self.segment:
                    yield number

    def is_there(self, at: int) -> bool:
        """Return whether the log has the byte at this place."""
        return bool(self._peek(at, 1))

    def _peek(self, at: int, count: int) -> bytes:
        try:
            return self._read(at, count)
        except NotAsWritten:
            return b""

    def birth(self, begin: int, end: int) -> str:
        """Return the checksums of a timeline's first records, "" if they are gone.

        They distinguish it from another timeline of the same number and beginning.
        """
        found: list[str] = []
        at = begin
        while begin and at < end and len(found) < BIRTH_RECORDS:
            try:
                _, at = self._record(at, 0)
            except (NotAsWritten, _Overwritten):
                break
            found.append(f"{self.checksum:08x}")
        return " ".join(found)

    def _record(self, at: int, before: int) -> tuple[int, int]:
        """Return where the record at `at` begins, and where the next record may begin.

        `before`: where the former record began, 0 if that is not checked.
        """
        at = self._first(at)
        head, _ = self._bytes(at, 4)
        (size,) = struct.unpack("<I", head)
        if not RECORD.size <= size <= RECORD_BYTES_MAX:
            raise NotAsWritten("no record follows" if not size else "the next record is damaged")
        data, following = self._bytes(at, size)
        _, _, link, info, manager, checksum = RECORD.unpack_from(data)
        if before and link != before:
            raise NotAsWritten("the next record is of an earlier time")
        if crc32c(data[:20], crc32c(data[24:])) != checksum:
            raise NotAsWritten("the next record is cut off")
        self.checksum = checksum
        if (manager, info & 0xF0) == SWITCH:
            return at, -(-following // self.segment) * self.segment
        return at, -(-following // 8) * 8

    def _first(self, at: int) -> int:
        """Return the place of a record; at the beginning of a page it is after the page's head."""
        return at if at % PAGE_BYTES else at + self._head(at, 0)

    def _bytes(self, at: int, count: int) -> tuple[bytes, int]:
        """Return `count` bytes of a record, which may be on several pages, and the place after."""
        found = bytearray()
        while len(found) < count:
            if at % PAGE_BYTES == 0:
                at += self._head(at, count - len(found))
            room = min(count - len(found), PAGE_BYTES - at % PAGE_BYTES)
            piece = self._read(at, room)
            found += piece
            at += room
        return bytes(found), at

    def _head(self, at: int, rest: int) -> int:
        """Return the length of a page's head; `rest`: bytes of a record that continue on it."""
        _, info, timeline, place, left = PAGE.unpack(self._read(at, PAGE.size))
        is_long = at % self.segment == 0
        if place != at or bool(info & 2) is not is_long or timeline > self.timelines[-1][0]:
            raise _LogEnds("no page follows")
        if info & 8 and rest and info & 1 == 0:
            raise _Overwritten(at + (40 if is_long else 24))
        # `left` may be larger than `rest`, because perhaps only a record's first bytes are read.
        if bool(info & 1) is not bool(rest) or left < rest:
            raise _LogEnds("the next page does not go on with the record")
        if is_long and struct.unpack("<Q", self._read(at + 24, 8))[0] != self.system:
            raise NotAsWritten("the next file is of another system")
        return 40 if is_long else 24

    def _read(self, at: int, count: int) -> bytes:
        number = at // self.segment
        per = (1 << 32) // self.segment
        for timeline, begin in reversed(self.timelines):
            name = f"{timeline:08X}{number // per:08X}{number % per:08X}"
            for one in (name, f"{name}.partial"):
                if number >= begin // self.segment and one in self.names:
                    if self.tree.size(f"{WAL}/{one}") != self.segment:
                        raise NotAsWritten(f"{one} is cut off")
                    return self.tree.read(f"{WAL}/{one}", at % self.segment, count)
        raise _LogEnds("no file follows")
