"""Compiled loops over rows: they find the rows that break a local claim, and pack combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.rows.layout import Places, get
from joinproto.check.engine.rows.threads import Workers
from joinproto.check.engine.shapes import Flags, Ints, Keys, Masks, Rows, SmallInts
from joinproto.check.engine.tables.arrays import Arrays
from joinproto.check.engine.tables.claimed import BreakingObservations

_BAD_ROOM = 1 << 16
"""The initial room for rows that break a claim."""

_SHARED_ROWS_MIN = 1 << 16
"""Fewer rows than this are looked at by one thread."""


def watch(
    arrays: Arrays,
    breaking: BreakingObservations,
    rows: Rows,
    begin: int,
    end: int,
    workers: Workers | None = None,
) -> tuple[Ints, Flags]:
    """Return the rows that break a local claim, int64 (found,), and the observations seen.

    These are bool (observation,): whether each observation of a member is in a row.
    """
    layout, off, members = arrays.layout, arrays.per_value.off, len(breaking.counts)
    shown, values = arrays.per_value.arrays["shown"], arrays.value_counts()
    total = len(breaking.conflicts)
    is_few = breaking.conflicts.shape[1] == 1
    bit, conflicting = np.zeros(len(shown), np.uint64), np.zeros(len(shown), np.uint64)
    for m in range(members if is_few else 0):
        here = slice(int(off[m]), int(off[m]) + values[m])
        numbers = (breaking.base[m] + shown[here]).astype(np.uint64)
        bit[here] = np.uint64(1) << numbers
        conflicting[here] = breaking.conflicts[numbers.astype(np.int64), 0]

    def watched_with(begin: int, end: int, room: int) -> tuple[Ints, Flags, int]:
        bad = np.empty(room, np.int64)
        where = (rows, begin, end, layout.places, off)
        if is_few:
            mask, found = watch_few(*where, members, bit, conflicting, bad)
            bits = np.uint64(mask) >> np.arange(total, dtype=np.uint64)
            return bad, (bits & np.uint64(1)) != 0, int(found)
        seen = np.zeros(total, np.bool_)
        found = watch_many(*where, shown, breaking.base, members, breaking.conflicts, seen, bad)
        return bad, seen, int(found)

    def piece(begin: int, end: int) -> tuple[Ints, Flags]:
        bad, seen, found = watched_with(begin, end, _BAD_ROOM)
        if found > _BAD_ROOM:
            # This is rare.  The caller picks among all of them, so that the order of rows does not
            # matter.
            bad, seen, found = watched_with(begin, end, found)
        return bad[:found], seen

    if workers is None or end - begin < _SHARED_ROWS_MIN:
        return piece(begin, end)
    pieces = workers.over(begin, end, piece)
    bad = np.concatenate([rows for rows, _ in pieces])
    return bad, np.logical_or.reduce([seen for _, seen in pieces])


@njit(cache=True, nogil=True)
def watch_few(
    rows: Rows,
    begin: Any,
    end: Any,
    places: Places,
    off: Ints,
    members: Any,
    bit: Keys,
    conflicting: Keys,
    bad: Ints,
) -> Any:
    """Return the observations seen and the number of rows that break a claim; write the rows.

    Only as many rows are written as `bad` has room for.  There are at most 64 observations in all.
    `bit`: the bit of the observation of each local state.  `conflicting`: the bits of the
    observations with which that observation breaks a claim, among them its own if it breaks a claim
    alone.
    """
    found = 0
    seen = np.uint64(0)
    for r in range(begin, end):
        here = np.uint64(0)
        danger = np.uint64(0)
        for member in range(members):
            at = off[member] + get(rows, r, places, member)
            here |= bit[at]
            danger |= conflicting[at]
        seen |= here
        if here & danger != 0:
            if found < len(bad):
                bad[found] = r
            found += 1
    return seen, found


@njit(cache=True, nogil=True)
def watch_many(
    rows: Rows,
    begin: Any,
    end: Any,
    places: Places,
    off: Ints,
    shown: SmallInts,
    base: Ints,
    members: Any,
    conflicts: Masks,
    seen: Flags,
    bad: Ints,
) -> Any:
    """Return the number of rows as `watch_few` does, for any number of observations.

    The seen ones are marked in `seen`.
    """
    found = 0
    has_conflicts = conflicts.shape[1] > 0
    numbers = np.zeros(members, np.int64)
    for r in range(begin, end):
        wrong = np.uint64(0)
        for member in range(members):
            value = get(rows, r, places, member)
            number = np.int64(base[member] + shown[off[member] + value])
            numbers[member] = number
            seen[number] = 1
            # One look-up for each pair, because the rows of so large a matrix do not fit a cache.
            for other in range(member + 1 if has_conflicts else 0):
                at = numbers[other]
                wrong |= conflicts[number, at >> 6] >> np.uint64(at & 63)
        if wrong & np.uint64(1) != 0:
            if found < len(bad):
                bad[found] = r
            found += 1
    return found


@njit(cache=True)
def combine(
    rows: Rows,
    picked: Ints,
    begin: Any,
    end: Any,
    places: Places,
    off: Ints,
    shown: SmallInts,
    parts: Any,
    to: Places,
    out: Rows,
) -> None:
    """Write the combination of observations of each row, packed by `to`, into `out`."""
    for p in range(begin, end):
        r = picked[p] if len(picked) > 0 else np.int64(p)
        for w in range(out.shape[1]):
            out[p - begin, w] = 0
        out[p - begin, 0] = np.uint64(1) << np.uint64(63)
        for f in range(parts):
            number = np.uint64(shown[off[f] + get(rows, r, places, f)])
            out[p - begin, to.word[f]] |= number << to.shift[f]
