"""The hash table of a `RowSet`, filled again, or doubled where it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.rows.bits import hash_of, mix
from joinproto.check.engine.shapes import Keys, Rows


@njit(cache=True)
def refill_single(rows: Rows, begin: Any, end: Any, table: Keys, shift: Any) -> None:
    last = np.int64(table.size - 1)
    for i in range(begin, end):
        key = rows[i, 0]
        place = np.int64(mix(key) >> shift)
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = key


@njit(cache=True)
def refill_wide(rows: Rows, begin: Any, end: Any, table: Keys, shift: Any) -> None:
    last = np.int64(table.size - 1)
    high = np.uint64(32)
    for i in range(begin, end):
        h = hash_of(rows, i)
        place = np.int64(h >> shift)
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = ((h >> high) << high) | np.uint64(i + 1)


@njit(cache=True, nogil=True)
def spread(table: Keys, begin: Any, end: Any, shift: Any, left: Keys, direct: Any) -> Any:
    """Move slots begin to end of a table that is doubled in place to where they belong now.

    A key's place is the top bits of its hash, so keys move up to about twice their place:
    going down from the top, each lands where nothing is moved from any more.  The few that
    would not, or not between twice `begin` and twice `end`, are put into `left`; returns how
    many, or -1 where there are too many.
    """
    aside = 0
    for i in range(end - 1, begin - 1, -1):
        key = table[i]
        if key == 0:
            continue
        place = np.int64((mix(key) if direct else key) >> shift)
        least = max(i + 1, 2 * begin)
        while place < 2 * end and place >= least and table[place] != 0:
            place += 1
        if place >= least and place < 2 * end:
            table[place] = key
        else:
            if aside == len(left):
                return -1
            left[aside] = key
            aside += 1
        table[i] = 0
    return aside


@njit(cache=True)
def put_back(table: Keys, shift: Any, left: Keys, count: Any, direct: Any) -> None:
    last = np.int64(table.size - 1)
    for i in range(count):
        place = np.int64((mix(left[i]) if direct else left[i]) >> shift)
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = left[i]
