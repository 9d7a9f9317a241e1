"""Successors of several workers, put into one set of rows by all of them at once.

The table of a `RowSet` is cut into as many parts as there are workers, by the top bits of the
hash.  Each worker first sorts its own candidates by part; then each goes through one part of
the table, with everybody's candidates for it.  So no place is written by two, and the order of
the rows depends on nothing but the number of workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from models.engine.bits import mix, prefetch

_BLOCK = 256
"""Look-ups that are started together."""


@njit(cache=True, nogil=True)
def sort_out_single(
    rows: Any, begin: Any, count: Any, shift: Any, recent: Any, keys: Any, counts: Any
) -> None:
    """List rows[begin:count], of one word, by the part of the table that they belong to.

    `keys[part, :counts[part]]`: the rows, behind those that are there.  What is found in `recent`
    (by hash, a power of two) is left out: most duplicates follow soon after.  It stays from call
    to call, while the set keeps its rows.  `shift`: as in the table.
    """
    lately = np.uint64(recent.size - 1)
    parts = len(counts)
    bits = np.int64(64) - np.int64(shift)
    # Written for each row: of its own, for another worker's counts are next to these.
    ends = counts.copy()
    for i in range(begin, count):
        key = rows[i, 0]
        h = mix(key)
        slot = np.int64(h & lately)
        part = (np.int64(h >> shift) * parts) >> bits
        at = ends[part]
        keys[part, at] = key
        ends[part] = at + np.int64(recent[slot] != key)
        recent[slot] = key
    counts[:] = ends


@njit(cache=True, nogil=True)
def insert_single(
    keys: Any, counts: Any, part: Any, table: Any, shift: Any, end: Any, rows: Any, first: Any
) -> Any:
    """Insert all workers' rows of one part, `keys[worker, part]`; new ones from `first` on.

    `end`: of the part, behind its last place; who would be put there or behind is listed at the
    beginning of `keys[0, part]`.  Returns (new rows, listed).
    """
    places = np.empty(_BLOCK, np.int64)
    new = first
    aside = 0
    for worker in range(keys.shape[0]):
        n = counts[worker, part]
        at = 0
        while at < n:
            upto = min(at + _BLOCK, n)
            # The look-ups of a block are started before the first is needed.
            for j in range(at, upto):
                place = np.int64(mix(keys[worker, part, j]) >> shift)
                places[j - at] = place
                prefetch(table, place)
            for j in range(at, upto):
                key = keys[worker, part, j]
                place = places[j - at]
                while True:
                    if place == end:
                        # Behind what was read of the first worker's, or of another's.
                        keys[0, part, aside] = key
                        aside += 1
                        break
                    entry = table[place]
                    if entry == key:
                        break
                    if entry == 0:
                        rows[new, 0] = key
                        new += 1
                        table[place] = key
                        break
                    place += 1
            at = upto
    return new - first, aside


@njit(cache=True, nogil=True)
def sort_out_wide(
    rows: Any,
    begin: Any,
    count: Any,
    shift: Any,
    recent: Any,
    hashes: Any,
    order: Any,
    counts: Any,
) -> None:
    """The same of wider rows: `order[part]` has their numbers, `hashes[part]` their hashes.

    `recent` has numbers of these rows, so it begins anew with each round.
    """
    lately = np.uint64(recent.size - 1)
    words = rows.shape[1]
    parts = len(counts)
    bits = np.int64(64) - np.int64(shift)
    if begin == 0:
        recent[:] = 0
    ends = counts.copy()
    for i in range(begin, count):
        h = np.uint64(0)
        for w in range(words):
            h = mix(h ^ rows[i, w])
        slot = np.int64(h & lately)
        other = np.int64(recent[slot]) - 1
        if other >= 0:
            differ = np.uint64(0)
            for w in range(words):
                differ |= rows[other, w] ^ rows[i, w]
            if differ == 0:
                continue
        recent[slot] = np.uint64(i + 1)
        part = (np.int64(h >> shift) * parts) >> bits
        at = ends[part]
        hashes[part, at] = h
        order[part, at] = i
        ends[part] = at + 1
    counts[:] = ends


@njit(cache=True, nogil=True)
def insert_wide(
    out: Any,
    hashes: Any,
    order: Any,
    counts: Any,
    part: Any,
    table: Any,
    shift: Any,
    end: Any,
    rows: Any,
    first: Any,
    places: Any,
    left: Any,
) -> Any:
    """The same of wider rows; `out[worker]` has them.

    `places`: of the new rows.  Who is to be put behind the part is listed in `left` (worker,
    number).  Returns (new rows, listed).
    """
    high = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    words = rows.shape[1]
    new = first
    aside = 0
    for worker in range(out.shape[0]):
        n = counts[worker, part]
        at = 0
        while at < n:
            upto = min(at + _BLOCK, n)
            for j in range(at, upto):
                prefetch(table, np.int64(hashes[worker, part, j] >> shift))
            for j in range(at, upto):
                h = hashes[worker, part, j]
                entry = table[np.int64(h >> shift)]
                if entry != 0 and (entry >> high) == (h >> high):
                    prefetch(rows, np.int64(entry & low) - 1)
            for j in range(at, upto):
                i = order[worker, part, j]
                h = hashes[worker, part, j]
                tag = h >> high
                place = np.int64(h >> shift)
                while True:
                    if place == end:
                        left[aside, 0] = worker
                        left[aside, 1] = i
                        aside += 1
                        break
                    entry = table[place]
                    if entry == 0:
                        for w in range(words):
                            rows[new, w] = out[worker, i, w]
                        places[new - first] = place
                        new += 1
                        table[place] = (tag << high) | np.uint64(new)
                        break
                    if (entry >> high) == tag:
                        known = np.int64(entry & low) - 1
                        same = True
                        for w in range(words):
                            if rows[known, w] != out[worker, i, w]:
                                same = False
                                break
                        if same:
                            break
                    place += 1
            at = upto
    return new - first, aside


@njit(cache=True, nogil=True)
def renumber(table: Any, places: Any, count: Any, less: Any) -> None:
    """Let the rows at `places[:count]` have numbers that are smaller by `less`."""
    for i in range(count):
        table[places[i]] -= np.uint64(less)
