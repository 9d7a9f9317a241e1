"""The contents of a journal's file, and whether a member may start from them.

A member that starts and the recovery tool both use this module, so they come to the same result.
An index (`index.py`) only makes it faster: a stretch in the index is checked with one checksum, and
is parsed record by record if the checksum differs.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias
from zlib import crc32

from attrs import define, evolve, field, frozen

from joinproto.codec.malformed import Malformed
from joinproto.durable.journal.records import (
    BASE_MAGIC,
    BODY,
    FRAME_BYTES_MAX,
    HEAD,
    MAGIC,
    PIECE_BYTES,
    RECORD_BYTES_MAX,
    Base,
    Run,
    base_of,
    parsed,
)
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns bytes of an open file, by place and length; fewer at its end.  Raises `OSError`."""

REPORT_SECONDS = 2.0
"""The least seconds between two reports of progress while a journal is read."""


@frozen(kw_only=True)
class Stretch:
    """Whole consecutive records, from the byte `start` to `end`.

    `first`: number of the first frame; `checksum`: the CRC-32 of the bytes; `views`: each view
    with its first frame; `offsets`: where each record begins.
    """

    start: int
    end: int
    first: int
    checksum: int
    views: tuple[tuple[bytes, int], ...]
    offsets: array[int] = field(repr=False)

    @property
    def last(self) -> int:
        return self.first + len(self.offsets) - 1


@frozen(kw_only=True)
class Survey:
    """The contents of a journal's file.

    `runs`: the runs of all frames, dropped ones included.  `offsets`: where each frame after the
    base begins.  `end`: the byte after the last whole frame; the rest up to `size` is a torn tail,
    and no process was told that it is durable.  `problem`: why the file cannot be believed, "" if
    it can.  `stretches`: all records; the first `indexed_count` stretches were in the index.
    """

    base: Base | None = None
    runs: tuple[Run, ...] = ()
    offsets: array[int] = field(factory=lambda: array("Q"), repr=False)
    end: int = 0
    size: int = 0
    problem: str = ""
    stretches: tuple[Stretch, ...] = ()
    indexed_count: int = 0


@define
class _Found:
    """The frames read up to now."""

    end: int
    last: int
    views: list[tuple[bytes, int]]
    offsets: array[int] = field(factory=lambda: array("Q"))
    stretches: list[Stretch] = field(factory=list)

    def take(self, stretch: Stretch) -> None:
        views = stretch.views
        if self.views and views[0][0] == self.views[-1][0]:
            views = views[1:]  # the last view continues
        self.views += views
        self.offsets += stretch.offsets
        self.end, self.last = stretch.end, stretch.last
        self.stretches.append(stretch)


def survey(
    read: Read,
    size: int,
    *,
    index: Iterable[Stretch] = (),
    piece_bytes: int = PIECE_BYTES,
    report: Callable[[int, int, int], None] | None = None,
) -> Survey:
    """Return the contents of an open journal of `size` bytes; raises `OSError`.

    The file is not changed.  `index`: stretches that were whole earlier.  `report`: called at
    most every `REPORT_SECONDS`, with the number of frames read, the byte after them, and `size`.
    """
    base = None
    if read(0, len(BASE_MAGIC)) == BASE_MAGIC:
        found_base = base_of(read)
        if isinstance(found_base, str):
            return Survey(size=size, problem=f"byte 0: {found_base}")
        base = found_base
    runs = () if base is None else base.runs
    found = _Found(
        end=0 if base is None else base.size,
        last=0 if base is None else base.last.seq,
        views=[(bytes.fromhex(run.view), run.first) for run in runs],
    )
    reported = time.monotonic()

    def report_if_due() -> None:
        nonlocal reported
        if report is not None and time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            report(len(found.offsets), found.end, size)

    for stretch in index:
        if not _is_unchanged(read, stretch, found):
            break
        found.take(stretch)
        report_if_due()
    indexed_count = len(found.stretches)
    problem = ""
    while not problem and found.end < size:
        following, problem = read_stretch(read, found.end, found.last + 1, size, piece_bytes)
        if following is None:
            break
        found.take(following)
        report_if_due()
    if not problem and _durable_after(read, found.end, size) > found.end:
        problem = f"byte {found.end}: a damaged frame, which a later frame calls durable"
    if problem:
        return Survey(base=base, end=found.end, size=size, problem=problem)
    lasts = [*(first - 1 for _, first in found.views[1:]), found.last]
    return Survey(
        base=base,
        runs=tuple(
            Run(view.hex(), first, until)
            for (view, first), until in zip(found.views, lasts, strict=False)
        ),
        offsets=found.offsets,
        end=found.end,
        size=size,
        stretches=tuple(found.stretches),
        indexed_count=indexed_count,
    )


def _is_unchanged(read: Read, stretch: Stretch, found: _Found) -> bool:
    if (stretch.start, stretch.first) != (found.end, found.last + 1):
        return False
    at, checksum = stretch.start, 0
    while at < stretch.end and (piece := read(at, min(PIECE_BYTES, stretch.end - at))):
        checksum = crc32(piece, checksum)
        at += len(piece)
    return at == stretch.end and checksum == stretch.checksum


def read_stretch(
    read: Read, start: int, first: int, size: int, piece_bytes: int = PIECE_BYTES
) -> tuple[Stretch | None, str]:
    """Return the whole records in about `piece_bytes` bytes from `start` on, and the first fault.

    The first result is None if there is no whole record, the second is "" if there is no fault.
    `first`: the number that the first frame must have; `size`: the bytes of the file.
    """
    held = read(start, min(piece_bytes, size - start))
    while True:
        stretch, problem = _whole_records(held, start, first)
        if stretch is not None or problem or len(held) >= RECORD_BYTES_MAX:
            return stretch, problem
        at = start + len(held)
        more = read(at, min(RECORD_BYTES_MAX, size - at))
        if not more:
            return stretch, problem
        held += more


def _whole_records(held: bytes, start: int, first: int) -> tuple[Stretch | None, str]:
    # A restart may read millions of frames, so none is copied, and lookups are outside the loop.
    whole, known = memoryview(held), len(held)
    read_head, read_body = HEAD.unpack_from, BODY.unpack_from
    head_bytes, least, most = HEAD.size, BODY.size, BODY.size + FRAME_BYTES_MAX
    offsets = array("Q")
    views: list[tuple[bytes, int]] = []
    last_view = b""
    place, number, problem = 0, first, ""
    while known - place >= head_bytes + least:
        magic, length, checksum = read_head(held, place)
        body = place + head_bytes
        after = body + length
        if magic != MAGIC or not least <= length <= most or after > known:
            break
        if crc32(whole[body:after]) != checksum:
            break
        view, seq, _ = read_body(held, body)
        if seq != number:
            problem = f"byte {start + place}: frame {seq} follows frame {number - 1}"
            break
        if view != last_view:
            views.append((view, seq))
            last_view = view
        offsets.append(start + place)
        place = after
        number += 1
    if not offsets:
        return None, problem
    stretch = Stretch(
        start=start,
        end=start + place,
        first=first,
        checksum=crc32(whole[:place]),
        views=tuple(views),
        offsets=offsets,
    )
    return stretch, problem


def _durable_after(read: Read, at: int, size: int) -> int:
    """Return the most bytes that a whole record after `at` says were durable, 0 for no record."""
    found = 0
    # Pieces overlap by the length of the longest record, so each record is whole in one of them.
    for begin in range(at, size, 3 * RECORD_BYTES_MAX):
        held = read(begin, 4 * RECORD_BYTES_MAX)
        place = held.find(MAGIC)
        while place >= 0:
            one = parsed(held[place : place + RECORD_BYTES_MAX])
            found = max(found, one[2] if one else 0)
            place = held.find(MAGIC, place + 1)
    return found


# -- whether a member may start from a journal -----------------------------------------------------


def start_from(
    record: StoreRecord, runs: Sequence[Run] | None, *, is_torn: bool = False
) -> tuple[StoreRecord, str]:
    """Return the record with the position of the journal, and why no member may start from it.

    The second result is "" if a member may start.  `runs`: the journal's runs, None if there is no
    journal; `is_torn`: a part of a frame follows the last whole frame.
    """
    if record.update_unfinished:
        # A cut had begun, or an older version, which marked every update, wrote this record.
        # Unless a frame is torn, the journal's frames are the first frames of the chain.
        if runs is None or is_torn:
            return record, ""  # the data do not count until the member is updated again
        whole, problem = _ending_at(evolve(record, update_unfinished=False), runs)
        return (record if problem else whole), ""
    if runs is None:
        # The journal is made before a member learns of any view.
        is_new = record.tip is None and record.position is None
        return record, "" if is_new else "is not there, but the metadata names a view or a frame"
    if record.position is not None and not holds(runs, record.position):
        last = last_of(runs)
        ends = "has no frame" if last is None else f"ends at frame {last.seq}"
        return record, (
            f"does not hold frame {record.position.seq}, which the metadata names, and {ends}:"
            " frames were lost"
        )
    return _ending_at(record, runs)


def _ending_at(record: StoreRecord, runs: Sequence[Run]) -> tuple[StoreRecord, str]:
    try:
        return evolve(record, position=last_of(runs)), ""
    except Malformed as malformed:
        return record, str(malformed)


def last_of(runs: Sequence[Run]) -> Position | None:
    """Return the position of the last frame in `runs`, None if there is no frame."""
    return Position(runs[-1].view, runs[-1].last) if runs else None


def too_short(runs: Sequence[Run], durable: int) -> str:
    """Return the problem of a journal that ends before frame `durable`, "" if it does not.

    Frame `durable` is known to have been on the disk.
    """
    last = last_of(runs)
    ends = "has no frame" if last is None else f"ends at frame {last.seq}"
    is_whole = durable <= (0 if last is None else last.seq)
    return "" if is_whole else f"{ends}, and frame {durable} was on the disk"


def holds(runs: Sequence[Run], position: Position) -> bool:
    """Return whether the frame at `position` is in `runs`."""
    return any(run.view == position.view and run.first <= position.seq <= run.last for run in runs)
