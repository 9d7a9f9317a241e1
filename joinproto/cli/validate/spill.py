"""Data that grows with the frames: numbers in a temporary file, and ranges of numbers.

A log of hours has millions of frames, and the times at which members had them are read once, at the
end.  Ranges stay in memory: frames come in order, so there are only about as many ranges as gaps.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO

from attrs import Factory, define, field

CHUNK = 4096
"""How many numbers are read and written together; each has 8 bytes."""

CHUNKS_KEPT = 64

_ZEROS = bytes(8 * CHUNK)


@define(eq=False)
class Spill:
    """The chunks of all columns in one file; the chunks that were used last are also in memory."""

    _file: IO[bytes] | None = None
    _places: dict[tuple[int, int], int] = Factory(dict)
    _kept: OrderedDict[tuple[int, int], array[int]] = Factory(OrderedDict)
    _columns: int = 0

    def column(self) -> Column:
        """Return a new column of zeros."""
        self._columns += 1
        return Column(self, self._columns)

    def close(self) -> None:
        """Remove the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def chunk(self, key: tuple[int, int]) -> array[int]:
        """Return a chunk, which may be read and changed until the next call."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        if len(self._kept) >= CHUNKS_KEPT:
            self._write(*self._kept.popitem(last=False))
        place = self._places.get(key)
        content = _ZEROS if place is None else os.pread(self._open(), len(_ZEROS), place)
        made = self._kept[key] = array("q", content)
        return made

    def _write(self, key: tuple[int, int], chunk: array[int]) -> None:
        place = self._places.setdefault(key, len(_ZEROS) * len(self._places))
        os.pwrite(self._open(), chunk.tobytes(), place)

    def _open(self) -> int:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="joinproto-validate-")  # noqa: SIM115
        return self._file.fileno()


@define(eq=False)
class Column:
    """Numbers of 64 bits by their index; 0 where no number was put."""

    spill: Spill
    number: int

    def __getitem__(self, index: int) -> int:
        return self.spill.chunk((self.number, index // CHUNK))[index % CHUNK]

    def __setitem__(self, index: int, value: int) -> None:
        self.spill.chunk((self.number, index // CHUNK))[index % CHUNK] = value


@define
class Ranges:
    """A set of numbers, as ranges from `firsts[i]` to `lasts[i]`, in order and with gaps."""

    firsts: list[int] = field(factory=list)
    lasts: list[int] = field(factory=list)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.firsts, number) - 1
        return at >= 0 and number <= self.lasts[at]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.firsts, self.lasts, strict=True))

    def __bool__(self) -> bool:
        return bool(self.firsts)

    @property
    def count(self) -> int:
        return sum(last - first + 1 for first, last in self)

    @property
    def last(self) -> int:
        """Return the greatest number; 0 if the set is empty."""
        return self.lasts[-1] if self.lasts else 0

    def add(self, first: int, last: int) -> None:
        """Add the numbers from `first` to `last`; none if `last` is less than `first`."""
        if last < first:
            return
        if self.lasts and first == self.lasts[-1] + 1:
            self.lasts[-1] = last
            return
        begin = bisect_right(self.lasts, first - 2)
        end = bisect_right(self.firsts, last + 1)
        if begin < end:
            first, last = min(first, self.firsts[begin]), max(last, self.lasts[end - 1])
        self.firsts[begin:end] = [first]
        self.lasts[begin:end] = [last]

    def intersection(self, other: Ranges) -> Ranges:
        """Return the numbers that are in both sets."""
        found = Ranges()
        for first, last in self:
            at = max(0, bisect_right(other.firsts, first) - 1)
            while at < len(other.firsts) and other.firsts[at] <= last:
                found.add(max(first, other.firsts[at]), min(last, other.lasts[at]))
                at += 1
        return found

    def beyond(self, number: int) -> int | None:
        """Return the least number of the set that is greater than `number`, or None."""
        for first, last in self:
            if last > number:
                return max(first, number + 1)
        return None
