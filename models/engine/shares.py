"""Successors of several workers, put into one set of rows by all of them at once.

The table of a `RowSet` is cut into as many parts as there are workers, by the top bits of the
hash.  Each worker first sorts its own candidates by part; then each goes through one part of
the table, with everybody's candidates for it.  So no place is written by two, and the order of
the rows depends on nothing but the number of workers.

New rows of several words then stand as one worker alone would have put them, but for the few that
found no place in their part: they come last.  The order is worth much: who comes from the same row
meets the same answers, which are in the processor's cache, and in the order of their parts the rows
of `join` took half as long again to expand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from models.engine.bits import mix, prefetch

_BLOCK = 256
"""Look-ups that are started together."""

_AHEAD = 64
"""So many rows ahead a write to the table is prepared."""


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
    places: Any,
    via: Any,
) -> None:
    """The same of wider rows: `order[part]` has their numbers, `hashes[part]` their hashes.

    `places`: -1 for each of them, as none is in the set yet.  `via`: what each is marked with;
    the first of several that are the same gets the marks of all.

    `recent` has numbers of these rows, so it begins anew with each round.
    """
    lately = np.uint64(recent.size - 1)
    words = rows.shape[1]
    parts = len(counts)
    bits = np.int64(64) - np.int64(shift)
    if begin == 0:
        recent[:] = 0
    ends = counts.copy()
    places[begin:count] = -1
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
                via[other] |= via[i]
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
    known: Any,
    room: Any,
    places: Any,
    left: Any,
    via: Any,
    marks: Any,
    begin: Any,
) -> Any:
    """The same of wider rows, `out[worker]`, of which `room` belong to a worker at most.

    `via`: of each, what it is marked with; `marks`: of rows from `begin` on.

    `known`: rows that were there before.  A new one gets a number behind those, by worker and its
    own number, and `places[worker]` says where in the table: `settle_wide` does the rest.  Who is
    to be put behind the part is listed in `left` (worker, number).  Returns how many.
    """
    high = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    words = rows.shape[1]
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
                    number = np.int64(entry & low) - 1
                    if number < known:
                        prefetch(rows, number)
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
                        number = known + worker * room + i
                        table[place] = (tag << high) | np.uint64(number + 1)
                        places[worker, i] = place
                        break
                    if (entry >> high) == tag:
                        number = np.int64(entry & low) - 1
                        other, own = np.int64(-1), np.int64(0)
                        differ = np.uint64(0)
                        if number < known:
                            for w in range(words):
                                differ |= rows[number, w] ^ out[worker, i, w]
                        else:
                            other, own = (number - known) // room, (number - known) % room
                            for w in range(words):
                                differ |= out[other, own, w] ^ out[worker, i, w]
                        if differ == 0:
                            if other >= 0:
                                via[other, own] |= via[worker, i]
                            elif 0 <= number - begin < len(marks):
                                marks[number - begin] |= via[worker, i]
                            break
                    place += 1
            at = upto
    return aside


@njit(cache=True, nogil=True)
def count_new(places: Any, count: Any) -> Any:
    """Return how many of a worker's rows are new."""
    new = 0
    for i in range(count):
        new += places[i] >= 0
    return new


@njit(cache=True, nogil=True)
def settle_wide(
    out: Any,
    count: Any,
    places: Any,
    table: Any,
    rows: Any,
    first: Any,
    via: Any,
    marks: Any,
    begin: Any,
) -> None:
    """Put the new ones of a worker's rows `out[:count]` into `rows`, from `first` on, as they came.

    So rows stand where one worker alone would have put them: those that follow from one row, and
    need the same answers, stand together.
    """
    high = np.uint64(32)
    words = rows.shape[1]
    for i in range(count):
        if i + _AHEAD < count and places[i + _AHEAD] >= 0:
            prefetch(table, places[i + _AHEAD])
        place = places[i]
        if place < 0:
            continue
        for w in range(words):
            rows[first, w] = out[i, w]
        if 0 <= first - begin < len(marks):
            marks[first - begin] = via[i]
        first += 1
        table[place] = ((table[place] >> high) << high) | np.uint64(first)
