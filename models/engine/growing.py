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


class Grids:
    """One table (value, column) of int32 for each field, all in one array."""

    def __init__(self, fields: int, fill: int) -> None:
        self.rows = [8] * fields
        self.columns = [8] * fields
        self.fill = fill
        self.off = np.arange(fields, dtype=np.int64) * 64
        self.stride = np.full(fields, 8, np.int64)
        self.array: npt.NDArray[np.int32] = np.full(64 * max(fields, 1), fill, np.int32)

    def make_room(self, field: int, rows: int, columns: int) -> None:
        if rows <= self.rows[field] and columns <= self.columns[field]:
            return
        old = (self.off, list(self.rows), list(self.columns), self.array)
        while self.rows[field] < rows:
            self.rows[field] *= 2
        while self.columns[field] < columns:
            self.columns[field] *= 2
        sizes = [r * c for r, c in zip(self.rows, self.columns, strict=True)]
        self.off = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.stride = np.array(self.columns, np.int64)
        self.array = np.full(sum(sizes), self.fill, np.int32)
        old_off, old_rows, old_columns, old_array = old
        for f, (r, c) in enumerate(zip(old_rows, old_columns, strict=True)):
            block = old_array[old_off[f] : old_off[f] + r * c].reshape(r, c)
            size = self.rows[f] * self.columns[f]
            new = self.array[self.off[f] : self.off[f] + size].reshape(self.rows[f], -1)
            new[:r, :c] = block

    def place(self, field: int, row: int, column: int) -> int:
        return int(self.off[field]) + row * int(self.stride[field]) + column
