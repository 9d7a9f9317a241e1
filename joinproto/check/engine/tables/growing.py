"""Arrays that grow: values are appended one by one, and the kernel reads the whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joinproto.check.engine.shapes import Column


class Growing:
    """A one-dimensional array with room to spare; `array[:count]` is in use.

    An appended value waits in a list until the array is read, because appending to a list is
    faster.
    """

    append: Callable[[int], None]
    """Append a value."""

    def __init__(self, dtype: Any, fill: int = 0) -> None:
        self.fill = fill
        self._written = 0
        self._array: Column = np.full(64, fill, dtype)
        self._wait([])

    def _wait(self, waiting: list[int]) -> None:
        self._waiting = waiting
        # The method of the list itself: a further call would double the time.
        self.append = waiting.append

    def __getstate__(self) -> dict[str, Any]:
        return {"fill": self.fill, "_array": self.array, "_written": self._written}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._wait([])

    @property
    def count(self) -> int:
        return self._written + len(self._waiting)

    @property
    def array(self) -> Column:
        """The present array; it is replaced by another array when it grows."""
        self._write_waiting()
        return self._array

    def append_all(self, values: list[int]) -> None:
        """Append all of `values`."""
        self._waiting += values

    def extend(self, values: Column) -> None:
        """Append all of `values`."""
        self._write_waiting()
        self._write(values)

    def _write_waiting(self) -> None:
        if self._waiting:
            # The list is cleared only after it is written, so no value is lost if memory ends.
            self._write(np.array(self._waiting, self._array.dtype))
            self._waiting.clear()

    def make_room_for(self, more: int) -> None:
        """Reserve memory for appending this many values."""
        self._write_waiting()
        self._grow(self._written + more)

    def _grow(self, wanted: int) -> None:
        if wanted > len(self._array):
            size, dtype = max(wanted, 2 * len(self._array)), self._array.dtype
            # Zeros take no memory until they are written to.
            grown = np.full(size, self.fill, dtype) if self.fill else np.zeros(size, dtype)
            grown[: self._written] = self._array[: self._written]
            self._array = grown

    def _write(self, values: Column) -> None:
        before, wanted = self._written, self._written + len(values)
        self._grow(wanted)
        self._array[before:wanted] = values
        self._written = wanted


def columns(**dtypes: Any) -> dict[str, Growing]:
    """Return the columns of a table that grows row by row."""
    return {name: Growing(dtype) for name, dtype in dtypes.items()}


class Ragged:
    """Several arrays of the same shape, with one block of values for each field.

    `off[f]` is where the block of field f begins.  If a block is full, all arrays are replaced.
    """

    def __init__(self, fields: int, **arrays: tuple[Any, int]) -> None:
        self.room = [8] * fields
        self._fills = {name: fill for name, (_, fill) in arrays.items()}
        self.off = np.arange(fields + 1, dtype=np.int64) * 8
        self.arrays: dict[str, Column] = {
            name: np.full(8 * fields, fill, dtype) for name, (dtype, fill) in arrays.items()
        }

    def add_fields(self, count: int) -> None:
        """Append this many fields."""
        self._move([*self.room, *[8] * count])

    def make_room(self, field: int, wanted: int) -> None:
        """Extend field `field` to at least `wanted` values."""
        if wanted > self.room[field]:
            room = list(self.room)
            room[field] = max(wanted, 2 * room[field])
            self._move(room)

    def _move(self, room: list[int]) -> None:
        off = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        for name, array in self.arrays.items():
            grown = np.full(int(off[-1]), self._fills[name], array.dtype)
            for f, held in enumerate(self.room):
                grown[off[f] : off[f] + held] = array[self.off[f] : self.off[f] + held]
            self.arrays[name] = grown
        self.room, self.off = room, off
