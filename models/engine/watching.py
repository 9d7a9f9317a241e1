"""What members show in a row: claims about one or two of them, and the whole combination."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def watch_few(
    rows: Any,
    begin: Any,
    end: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    members: Any,
    bit: Any,
    feared: Any,
    bad: Any,
) -> Any:
    """Return what was seen and how many rows break a claim; write those rows.

    At most 64 observations in all: `bit` has one for each value of a member, `feared` those
    with which it breaks a claim, its own where it breaks one alone.
    """
    found = 0
    seen = np.uint64(0)
    for r in range(begin, end):
        here = np.uint64(0)
        danger = np.uint64(0)
        for member in range(members):
            at = off[member] + np.int64((rows[r, word[member]] >> shift[member]) & mask[member])
            here |= bit[at]
            danger |= feared[at]
        seen |= here
        if here & danger != 0:
            if found < len(bad):
                bad[found] = r
            found += 1
    return seen, found


@njit(cache=True)
def watch_many(
    rows: Any,
    begin: Any,
    end: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    shown: Any,
    base: Any,
    members: Any,
    conflicts: Any,
    seen: Any,
    bad: Any,
) -> Any:
    """The same for any number of observations: mark what was seen in `seen`."""
    found = 0
    words = conflicts.shape[1]
    here = np.zeros(words, np.uint64)
    danger = np.zeros(words, np.uint64)
    for r in range(begin, end):
        for w in range(words):
            here[w] = 0
            danger[w] = 0
        for member in range(members):
            value = np.int64((rows[r, word[member]] >> shift[member]) & mask[member])
            number = base[member] + shown[off[member] + value]
            seen[number] = 1
            if words == 0:
                continue
            here[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
            for w in range(words):
                danger[w] |= conflicts[number, w]
        wrong = False
        for w in range(words):
            wrong |= here[w] & danger[w] != 0
        if wrong:
            if found < len(bad):
                bad[found] = r
            found += 1
    return found


@njit(cache=True)
def combine(
    rows: Any,
    picked: Any,
    begin: Any,
    end: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    shown: Any,
    parts: Any,
    to_word: Any,
    to_shift: Any,
    out: Any,
) -> None:
    """Write each row's combination of observations, packed."""
    for p in range(begin, end):
        r = picked[p] if len(picked) > 0 else np.int64(p)
        for w in range(out.shape[1]):
            out[p - begin, w] = 0
        out[p - begin, 0] = np.uint64(1) << np.uint64(63)
        for f in range(parts):
            value = np.int64((rows[r, word[f]] >> shift[f]) & mask[f])
            number = np.uint64(shown[off[f] + value])
            out[p - begin, to_word[f]] |= number << to_shift[f]
