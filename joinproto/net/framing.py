"""Frames on a stream of bytes: a length, then this many bytes; nothing is read beyond a limit."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from joinproto.net.refused import Refused

LENGTH_BYTES = 4


def framed(body: bytes) -> bytes:
    """Return the body behind its length, 4 bytes, the highest first."""
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


@define
class Reader:
    """Bodies out of whatever pieces the bytes come in.  `limit`: bytes of the longest body."""

    limit: int
    _held: bytearray = field(factory=bytearray)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bodies that are complete; raises `Refused` for a length over the limit."""
        self._held += data
        while len(self._held) >= LENGTH_BYTES:
            length = int.from_bytes(self._held[:LENGTH_BYTES], "big")
            if not 0 < length <= self.limit:
                raise Refused(f"a frame of {length} bytes, expected 1 to {self.limit}")
            if len(self._held) < LENGTH_BYTES + length:
                return
            body = bytes(self._held[LENGTH_BYTES : LENGTH_BYTES + length])
            del self._held[: LENGTH_BYTES + length]
            yield body
