"""Arrays that grow: appended to one by one, read whole by the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Growing:
    """A one-dimensional array with room to spare; `array[:count]` is in use."""

    def __init__(self, dtype: Any, fill: int = 0) -> None:
        self.fill = fill
        self.count = 0
        self.array: npt.NDArray[Any] = np.full(64, fill, dtype)

    def append(self, value: int) -> int:
        """Append `value`; returns its index."""
        at = self.count
        self.reserve(at + 1)
        self.array[at] = value
        self.count = at + 1
        return at

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append all of `values`."""
        wanted = self.count + len(values)
        self.reserve(wanted)
        self.array[self.count : wanted] = values
        self.count = wanted

    def reserve(self, wanted: int) -> None:
        if wanted > len(self.array):
            grown = np.full(max(wanted, 2 * len(self.array)), self.fill, self.array.dtype)
            grown[: len(self.array)] = self.array
            self.array = grown


def columns(**dtypes: Any) -> dict[str, Growing]:
    """Return the columns of a table that grows row by row."""
    return {name: Growing(dtype) for name, dtype in dtypes.items()}


class Ragged:
    """Several arrays of the same shape: one block of values for each field.

    `off[f]` is where field f's block begins; a block that is full moves all to larger ones.
    """

    def __init__(self, fields: int, **arrays: tuple[Any, int]) -> None:
        self.room = [8] * fields
        self._fills = {name: fill for name, (_, fill) in arrays.items()}
        self.off = np.arange(fields + 1, dtype=np.int64) * 8
        self.arrays: dict[str, npt.NDArray[Any]] = {
            name: np.full(8 * fields, fill, dtype) for name, (dtype, fill) in arrays.items()
        }

    def add_fields(self, count: int) -> None:
        """Have so many fields more, behind the others."""
        self.room += [8] * count
        self.off = np.concatenate([[0], np.cumsum(self.room)]).astype(np.int64)
        for name, array in self.arrays.items():
            more = np.full(8 * count, self._fills[name], array.dtype)
            self.arrays[name] = np.concatenate([array, more])

    def make_room(self, field: int, wanted: int) -> None:
        """Let field `field` have at least `wanted` values."""
        if wanted <= self.room[field]:
            return
        old_off, old_room = self.off, list(self.room)
        self.room[field] = max(wanted, 2 * self.room[field])
        self.off = np.concatenate([[0], np.cumsum(self.room)]).astype(np.int64)
        for name, array in self.arrays.items():
            grown = np.full(int(self.off[-1]), self._fills[name], array.dtype)
            for f, room in enumerate(old_room):
                grown[self.off[f] : self.off[f] + room] = array[old_off[f] : old_off[f] + room]
            self.arrays[name] = grown
