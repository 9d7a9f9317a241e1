"""Encode and decode records of a journal: frames, and the base that replaces dropped frames.

record      magic, length, checksum; then view, seq, how many bytes were durable before, data
base        magic, length, checksum; then the length of a line of JSON, the line, a state
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from attrs import frozen

from joinproto.join.view import Position

FRAME_BYTES_MAX = 2**20
"""Maximal length of the data of one frame, in bytes."""

MAGIC = b"jpF1"
BASE_MAGIC = b"base"
HEAD = struct.Struct(">4sII")  # magic, length and checksum of the rest
BODY = struct.Struct(">32sQQ")  # view, seq, bytes that were durable before
RECORD_BYTES_MAX = HEAD.size + BODY.size + FRAME_BYTES_MAX
BASE_BYTES_MAX = 2**30
"""Maximal length of a base without its head, in bytes; it holds a state of the application."""

PIECE_BYTES = 4 << 20
DAMAGED = "the base, which stands for the dropped frames, is damaged"

_LINE = struct.Struct(">I")


@frozen
class Frame:
    """One entry of the log.

    `view`: id of the view in which it was sent.  `seq`: its number, which is 1 for the cluster's
    first frame, and does not begin again with a new view.
    """

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


def listed(runs: Sequence[Run]) -> list[list[Any]]:
    """Return runs in their JSON form."""
    return [[run.view, run.first, run.last] for run in runs]


def until(runs: Sequence[Run], last: int) -> tuple[Run, ...]:
    """Return the runs of the frames up to `last`."""
    return tuple(Run(run.view, run.first, min(run.last, last)) for run in runs if run.first <= last)


@frozen
class Base:
    """The beginning of a journal whose first frames were dropped.

    `runs`: the dropped frames, from frame 1.  `kind`: the kind of the application whose state
    follows the line.  `state_at`, `size`: the bytes of the file where the state and the first
    record begin.
    """

    runs: tuple[Run, ...]
    kind: str
    state_at: int
    size: int

    @property
    def state_bytes(self) -> int:
        return self.size - self.state_at

    @property
    def last(self) -> Position:
        """Return the position of the last dropped frame."""
        return Position(self.runs[-1].view, self.runs[-1].last)


def record(frame: Frame, durable: int) -> bytes:
    """Return the record of a frame; `durable`: how many bytes of the file are durable now."""
    body = BODY.pack(bytes.fromhex(frame.view), frame.seq, durable) + frame.data
    return HEAD.pack(MAGIC, len(body), crc32(body)) + body


def parsed(raw: bytes) -> tuple[Frame, int, int] | None:
    """Return the frame at the start of `raw`, its record's length, and its count of durable bytes.

    Return None if there is no whole frame.
    """
    if len(raw) < HEAD.size + BODY.size:
        return None
    magic, length, checksum = HEAD.unpack_from(raw)
    body = raw[HEAD.size : HEAD.size + length]
    if magic != MAGIC or length < BODY.size or len(body) < length or crc32(body) != checksum:
        return None
    view, seq, durable = BODY.unpack_from(body)
    return Frame(view.hex(), seq, body[BODY.size :]), HEAD.size + length, durable


def base_line(runs: Sequence[Run], kind: str) -> bytes:
    """Return the line of a base with its length before it; the state follows the line."""
    tree = {"kind": kind, "runs": listed(runs)}
    line = json.dumps(tree).encode()
    return _LINE.pack(len(line)) + line


def base_head(length: int, checksum: int) -> bytes:
    """Return the head of a base; `length`, `checksum`: of the bytes that follow the head."""
    return HEAD.pack(BASE_MAGIC, length, checksum)


def base_of(read: Callable[[int, int], bytes]) -> Base | str:
    """Return the base at the beginning of a file, or why there is none.

    `read`: returns bytes of the file, by place and length; fewer at its end.
    """
    head = read(0, HEAD.size + _LINE.size)
    if len(head) < HEAD.size + _LINE.size:
        return "the base ends early"
    magic, length, expected = HEAD.unpack_from(head)
    (line,) = _LINE.unpack_from(head, HEAD.size)
    at, size = len(head), HEAD.size + length
    if magic != BASE_MAGIC or length > BASE_BYTES_MAX or at + line > size:
        return DAMAGED
    said, checksum, place = b"", crc32(head[HEAD.size :]), at
    while place < size and (piece := read(place, min(PIECE_BYTES, size - place))):
        checksum = crc32(piece, checksum)
        if len(said) < line:
            said += piece
        place += len(piece)
    if place < size or checksum != expected:
        return DAMAGED
    try:
        tree = json.loads(said[:line])
        runs = tuple(Run(str(view), int(first), int(last)) for view, first, last in tree["runs"])
        kind = str(tree["kind"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return DAMAGED
    follows = zip(runs, (0, *(run.last for run in runs)), strict=False)
    if not runs or any(run.first != last + 1 or run.last < run.first for run, last in follows):
        return DAMAGED
    return Base(runs, kind, at + line, size)
