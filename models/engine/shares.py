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

from models.engine.bits import mix


@njit(cache=True, nogil=True)
def sort_out(
    rows: Any,
    count: Any,
    shift: Any,
    parts: Any,
    size: Any,
    recent: Any,
    hashes: Any,
    order: Any,
    counts: Any,
) -> None:
    """List rows[:count] by the part of the table that they belong to.

    `order[part, :counts[part]]`: numbers of candidates; `hashes`: of each of those.  What is
    found in `recent` (numbers + 1 by hash, a power of two) is left out: most duplicates follow
    soon after.  `size`: places of the table, `shift` as there.
    """
    lately = np.uint64(recent.size - 1)
    words = rows.shape[1]
    recent[:] = 0
    counts[:] = 0
    for i in range(count):
        h = np.uint64(0)
        for w in range(words):
            h = mix(h ^ rows[i, w])
        slot = np.int64(h & lately)
        other = recent[slot] - 1
        same = other >= 0
        if same:
            for w in range(words):
                if rows[other, w] != rows[i, w]:
                    same = False
                    break
        if same:
            continue
        recent[slot] = i + 1
        hashes[i] = h
        part = (np.int64(h >> shift) * parts) // size
        order[part, counts[part]] = i
        counts[part] += 1


@njit(cache=True, nogil=True)
def insert_share(
    out: Any,
    hashes: Any,
    order: Any,
    counts: Any,
    part: Any,
    table: Any,
    shift: Any,
    end: Any,
    direct: Any,
    rows: Any,
    first: Any,
    places: Any,
    left: Any,
) -> Any:
    """Insert all workers' candidates of one part; new rows are written from `first` on.

    `out`, `hashes`, `order`, `counts`: by worker.  `end`: of the part, behind its last place;
    who would be put there or behind is listed in `left` (worker, number).  `places`: of the new
    rows.  Returns (new rows, left).
    """
    high = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    words = rows.shape[1]
    touched = np.uint64(0)
    new = first
    aside = 0
    for worker in range(out.shape[0]):
        n = counts[worker, part]
        at = 0
        while at < n:
            upto = min(at + 512, n)
            # The look-ups of a block are started before the first is needed.
            for j in range(at, upto):
                touched ^= table[np.int64(hashes[worker, order[worker, part, j]] >> shift)]
            if not direct:
                for j in range(at, upto):
                    h = hashes[worker, order[worker, part, j]]
                    entry = table[np.int64(h >> shift)]
                    if entry != 0 and (entry >> high) == (h >> high):
                        touched ^= rows[np.int64(entry & low) - 1, 0]
            for j in range(at, upto):
                i = order[worker, part, j]
                h = hashes[worker, i]
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
                        if direct:
                            table[place] = out[worker, i, 0]
                        else:
                            table[place] = (tag << high) | np.uint64(new)
                        break
                    if direct:
                        if entry == out[worker, i, 0]:
                            break
                    elif (entry >> high) == tag:
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
    return new - first, aside, touched


@njit(cache=True, nogil=True)
def renumber(table: Any, places: Any, count: Any, less: Any) -> None:
    """Let the rows at `places[:count]` have numbers that are smaller by `less`."""
    for i in range(count):
        table[places[i]] -= np.uint64(less)
