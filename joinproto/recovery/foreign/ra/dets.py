"""DETS, Erlang's tables on disk: their objects are found as a repair after a crash finds them.

A file has a header, then areas whose sizes are powers of two.  An area in use begins with its size
and a magic word, and has the objects of one slot, each with its size.  A table that was not closed
lacks its lists of free areas, and an object may be in two areas; there is no checksum.  So the
objects of all areas in use are returned, and the caller must choose among objects with one key.

Bounds: files of at most `BYTES_MAX` bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.recovery.foreign.external import FIRST, end_of
from joinproto.recovery.foreign.text import NotAsWritten

BYTES_MAX = 64 << 20
COOKIE, VERSION, CLOSED = 0x00ABCDEF, 9, 1
BASE = 0x138 + 4 * 256
"""The place after the header and the pointers to the parts of the array of segments."""
ACTIVE = (0x12345678).to_bytes(4, "big")
STEP = 16
"""The distance of an area from `BASE` is a multiple of this."""


def objects_in(name: str, data: bytes) -> Iterator[bytes]:
    """Yield the objects of a table of type `set`, each a term in the external format."""
    if len(data) > BYTES_MAX:
        raise NotAsWritten(f"{name}: is larger than {BYTES_MAX} bytes")
    if len(data) < BASE:
        raise NotAsWritten(f"{name}: was cut off")
    if _word(data, 4) != COOKIE or _word(data, 16) != VERSION:
        raise NotAsWritten(f"{name}: is not a table of DETS, or is of another version")
    count = 0
    at = data.find(ACTIVE, BASE)
    while at >= 0:
        if (at - 4 - BASE) % STEP == 0:
            for term in _objects_in_area(name, data, at - 4):
                count += 1
                yield term
        at = data.find(ACTIVE, at + 1)
    if _word(data, 8) == CLOSED and count != _word(data, 32):
        raise NotAsWritten(f"{name}: {_word(data, 32)} objects were written, and {count} are here")


def _objects_in_area(name: str, data: bytes, begin: int) -> Iterator[bytes]:
    end, at = begin + _word(data, begin), begin + 8
    if not at < end <= len(data):
        raise NotAsWritten(f"{name}: byte {begin} begins an area that does not end")
    while at < end:
        size = _word(data, at) if at + 4 <= end else 0
        if size < 6 or at + size > end or data[at + 4] != FIRST:
            raise NotAsWritten(f"{name}: no object begins at byte {at}")
        term = data[at + 5 : at + size]
        if end_of(term, 0) != len(term):
            raise NotAsWritten(f"{name}: byte {at} begins an object that is not a term")
        yield term
        at += size


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
