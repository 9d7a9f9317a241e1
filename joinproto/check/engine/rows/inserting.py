"""Compiled loops that insert rows into a set, in one thread or in several at once.

Threads take an empty place of the table by an atomic exchange, in which only one of them succeeds.
A thread first writes the row and then puts the row's number into the table, so another thread that
reads the number finds the row written.  Each thread writes rows in stretches of its own, so that
the successors of one row stand together.  They need the same answers, which are then in the
processor's cache.  Where a stretch is not full at the end, `close` moves the last rows there.

So the order of rows depends on which thread came first.  No result depends on that order.

The look-ups of a block are started before the first result is needed, so the processor waits for
memory once per block and not once per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.rows.bits import (
    are_same,
    atomic_add,
    atomic_or,
    compare_and_swap_zero,
    hash_of,
    mix,
    prefetch,
    read_now,
)
from joinproto.check.engine.shapes import Ints, Keys, RowMarks, Rows, Table

_BLOCK = 256
"""The number of look-ups that are started together."""


@njit(cache=True, nogil=True)
def insert_single(
    candidates: Rows,
    count: Any,
    table: Keys,
    shift: Any,
    rows: Rows,
    own: Ints,
    taken: Any,
    stretch: Any,
    recent: Keys,
) -> None:
    """Insert rows of one word; `candidates` is overwritten.

    `own`: the number of the next row that this thread writes, and the end of its room.  `taken`:
    None if one thread inserts; otherwise (1,), the end of all workers' stretches, from which a
    thread takes `stretch` rows when its room is full.  Rows that are in `recent` (a table by hash,
    whose size is a power of two) are left out.  Most duplicates come soon after the first, so they
    are recognized without waiting for memory.
    """
    last = np.int64(table.size - 1)
    lately = np.uint64(recent.size - 1)
    places = np.empty(_BLOCK, np.int64)
    next_row, end_row = own[0], own[1]
    at = 0
    while at < count:
        end = min(at + _BLOCK, count)
        fresh = 0
        for i in range(at, end):
            key = candidates[i, 0]
            h = mix(key)
            slot = np.int64(h & lately)
            candidates[at + fresh, 0] = key
            places[fresh] = np.int64(h >> shift)
            fresh += recent[slot] != key
            recent[slot] = key
        for i in range(fresh):
            prefetch(table, places[i])
        for i in range(fresh):
            key = candidates[at + i, 0]
            place = places[i]
            while True:
                found = read_now(table, place)
                if found == 0:
                    if taken is None:
                        table[place] = key
                    else:
                        found = compare_and_swap_zero(table, place, key)
                    if found == 0:
                        if taken is not None and next_row == end_row:
                            next_row = atomic_add(taken, np.int64(0), stretch)
                            end_row = next_row + stretch
                        rows[next_row, 0] = key
                        next_row += 1
                        break
                if found == key:
                    break
                place = (place + 1) & last
        at = end
    own[0], own[1] = next_row, end_row


@njit(cache=True, nogil=True)
def insert_wide(
    candidates: Rows,
    count: Any,
    table: Keys,
    shift: Any,
    rows: Rows,
    own: Ints,
    taken: Any,
    stretch: Any,
    via: RowMarks,
    marks: RowMarks,
    begin: Any,
    numbers: Ints,
) -> None:
    """Insert rows of any number of words; `own`, `taken` and `stretch` as in `insert_single`.

    `via`: the mark of each candidate, or empty.  `marks`: the marks of the set's rows from `begin`
    on.  `numbers`: receives the row number of each candidate, or empty.
    """
    last = np.int64(table.size - 1)
    words = rows.shape[1]
    low = np.uint64(0xFFFFFFFF)
    high = np.uint64(32)
    places = np.empty(_BLOCK, np.int64)
    hashes = np.empty(_BLOCK, np.uint64)
    next_row, end_row = own[0], own[1]
    at = 0
    while at < count:
        end = min(at + _BLOCK, count)
        for i in range(at, end):
            h = hash_of(candidates, i)
            hashes[i - at] = h
            place = np.int64(h >> shift)
            places[i - at] = place
            prefetch(table, place)
        for i in range(at, end):
            entry = read_now(table, places[i - at])
            if entry != 0 and (entry >> high) == (hashes[i - at] >> high):
                prefetch(rows, np.int64(entry & low) - 1)
        for i in range(at, end):
            tag = hashes[i - at] >> high
            place = places[i - at]
            while True:
                entry = read_now(table, place)
                if entry == 0:
                    if taken is not None and next_row == end_row:
                        next_row = atomic_add(taken, np.int64(0), stretch)
                        end_row = next_row + stretch
                    for w in range(words):
                        rows[next_row, w] = candidates[i, w]
                    if len(via) > 0:
                        marks[next_row - begin] = via[i]
                    number = (tag << high) | np.uint64(next_row + 1)
                    if taken is None:
                        table[place] = number
                    else:
                        entry = compare_and_swap_zero(table, place, number)
                    if entry == 0:
                        if len(numbers) > 0:
                            numbers[i] = next_row
                        next_row += 1
                        break
                if (entry >> high) == tag:
                    known = np.int64(entry & low) - 1
                    if are_same(rows, known, candidates, i):
                        if len(via) > 0 and known >= begin and via[i] & ~marks[known - begin] != 0:
                            atomic_or(marks, known - begin, via[i])
                        if len(numbers) > 0:
                            numbers[i] = known
                        break
                place = (place + 1) & last
        at = end
    own[0], own[1] = next_row, end_row


@njit(cache=True)
def close(
    table: Keys,
    shift: Any,
    is_direct: Any,
    rows: Rows,
    owns: Table,
    taken: Ints,
    marks: RowMarks,
    begin: Any,
) -> Any:
    """Move the last rows into the unused ends of stretches; return the number of rows.

    `owns`: each worker's `own`.  `is_direct`: the table holds rows and not their numbers.
    `marks`: the marks of the rows from `begin` on, or empty.
    """
    last = np.int64(table.size - 1)
    low = np.uint64(0xFFFFFFFF)
    high = np.uint64(32)
    words = rows.shape[1]
    count = taken[0]
    gaps = np.int64(0)
    for k in range(len(owns)):
        gaps += owns[k, 1] - owns[k, 0]
    left = count - gaps
    source = count
    for k in range(len(owns)):
        for hole in range(owns[k, 0], min(owns[k, 1], left)):
            while True:
                source -= 1
                is_row = True
                for j in range(len(owns)):
                    if owns[j, 0] <= source < owns[j, 1]:
                        is_row = False
                if is_row:
                    break
            for w in range(words):
                rows[hole, w] = rows[source, w]
            if len(marks) > 0:
                marks[hole - begin] = marks[source - begin]
            if is_direct:
                continue
            h = hash_of(rows, hole)
            place = np.int64(h >> shift)
            while np.int64(table[place] & low) - 1 != source:
                place = (place + 1) & last
            table[place] = ((h >> high) << high) | np.uint64(hole + 1)
    return left


# -- the hash table, filled again or doubled in place --------------------------------------


@njit(cache=True)
def refill(rows: Rows, begin: Any, end: Any, table: Keys, shift: Any, direct: Any) -> None:
    """Put rows begin to end into the table; `direct`: it holds rows and not their numbers."""
    last = np.int64(table.size - 1)
    high = np.uint64(32)
    for i in range(begin, end):
        h = hash_of(rows, i)
        place = np.int64(h >> shift)
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = rows[i, 0] if direct else ((h >> high) << high) | np.uint64(i + 1)


@njit(cache=True, nogil=True)
def spread(table: Keys, begin: Any, end: Any, shift: Any, left: Keys, direct: Any) -> Any:
    """Move the keys in slots begin to end to their new places in a table doubled in place.

    A key's place is the top bits of its hash, so a key moves to about twice its old place.  The
    loop goes down from the top, so most keys land in slots that are cleared already.  Other keys,
    and keys outside twice `begin` to twice `end`, go into `left`.  Return their number, or -1.
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
def put_left(table: Keys, shift: Any, left: Keys, count: Any, direct: Any) -> None:
    """Put the first `count` keys of `left` into the table."""
    last = np.int64(table.size - 1)
    for i in range(count):
        place = np.int64((mix(left[i]) if direct else left[i]) >> shift)
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = left[i]
