"""Frames on a stream of bytes: the length of a body in bytes, then the body."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from joinproto.net.refused import Refused

LENGTH_BYTES = 4


def framed(body: bytes) -> bytes:
    """Return the frame of a body: its length as 4 bytes, big-endian, and the body."""
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


@define
class Reader:
    """Reads bodies from bytes that come in any pieces.  `limit`: the most bytes of a body."""

    limit: int
    _held: bytearray = field(factory=bytearray)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bodies that are complete now.

        Raises `Refused` for a length of 0 or over the limit.
        """
        self._held += data
        while len(self._held) >= LENGTH_BYTES:
            length = int.from_bytes(self._held[:LENGTH_BYTES], "big")
            if not 0 < length <= self.limit:
                raise Refused(f"a frame of {length} bytes, expected 1 to {self.limit} bytes")
            if len(self._held) < LENGTH_BYTES + length:
                return
            body = bytes(self._held[LENGTH_BYTES : LENGTH_BYTES + length])
            del self._held[: LENGTH_BYTES + length]
            yield body
