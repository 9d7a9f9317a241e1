"""The bytes of a file, read in pieces: this needs constant memory for a file of any size."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

STRETCH = 1 << 20

ReadBytes = Callable[[int, int], bytes]
"""Returns bytes of the file by place and count, fewer at its end."""


@define
class Window:
    """A file of `size` bytes, of which one piece is kept in memory."""

    read: ReadBytes
    size: int
    _begin: int = 0
    _kept: bytes = b""

    def at(self, begin: int, count: int) -> bytes:
        """Return `count` bytes, at most `STRETCH`, from `begin` on; fewer at the file's end."""
        assert count <= STRETCH
        offset = begin - self._begin
        if offset < 0 or offset + count > len(self._kept):
            self._begin, offset = begin, 0
            self._kept = (
                self.read(begin, min(STRETCH, self.size - begin)) if begin < self.size else b""
            )
        return self._kept[offset : offset + count]

    def checksum(
        self, begin: int, count: int, *, by: Callable[[bytes, int], int], before: int
    ) -> int | None:
        """Return the checksum of `count` bytes from `begin` on; None if the file ends before.

        `by`: computes it, from a piece and the value before; `before`: the first value.
        """
        while count:
            piece = self.at(begin, min(count, STRETCH))
            if not piece:
                return None
            before = by(piece, before)
            begin += len(piece)
            count -= len(piece)
        return before

    def is_blank(self, begin: int, end: int) -> bool:
        """Return whether there are only zeros from `begin` to `end`, or to the end of the file."""
        while begin < min(end, self.size):
            piece = self.at(begin, min(STRETCH, end - begin))
            if any(piece):
                return False
            begin += len(piece)
        return True
