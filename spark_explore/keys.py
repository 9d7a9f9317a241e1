"""The owners of rows, and rows as sorted sets.

A key has 64 bits.  For rows of one word it is the row itself, so that rows which differ little are
close together and share successors.  For wider rows it is a fingerprint, and rows with equal keys
are compared, so that no row is ever taken for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from joinproto.check.engine.rows.bits import fingerprints
from joinproto.check.engine.rows.merging import sought
from joinproto.check.engine.shapes import Flags, Ints, Keys, Rows

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_FEW = 4


def keys_of(rows: Rows, *, wide: bool) -> Keys:
    return fingerprints(rows) if wide else np.ascontiguousarray(rows[:, 0])


def owners_of(keys: Keys, owners: int) -> npt.NDArray[np.uint16]:
    """Return the owner of each key, 0 to `owners` - 1; at most 65,536 owners."""
    top = (keys * _ODD) >> _HALF
    found: npt.NDArray[np.uint16] = ((top * np.uint64(owners)) >> _HALF).astype(np.uint16)
    return found


def by_owner(rows: Rows, owners: int, *, wide: bool) -> Iterator[tuple[int, Rows]]:
    """Yield each owner of some of `rows` with its rows; each owner's rows keep their order."""
    if owners == 1:
        yield 0, rows
        return
    owner = owners_of(keys_of(rows, wide=wide), owners)
    if owners <= _FEW:
        # For few owners, a pass over all rows for each owner is faster than sorting.
        for number in range(owners):
            places = np.flatnonzero(owner == number)
            if len(places):
                yield number, rows.take(places, axis=0)
        return
    order = np.argsort(owner, kind="stable")
    ends = np.cumsum(np.bincount(owner, minlength=owners))
    begin = 0
    for number, end in enumerate(ends.tolist()):
        if end > begin:
            yield number, rows[order[begin:end]]
        begin = end


def padded(rows: Rows, words: int) -> Rows:
    """Return `rows` with words of zeros at the end, up to `words`."""
    if rows.shape[1] == words:
        return rows
    found = np.zeros((len(rows), words), np.uint64)
    found[:, : rows.shape[1]] = rows
    return found


def unique(keys: Keys, rows: Rows, *, owned: bool = False) -> tuple[Keys, Rows]:
    """Return keys and rows in the order of the keys, each row once.

    `owned`: rows of one word may be sorted in place.
    """
    if rows.shape[1] == 1:
        found = rows[:, 0] if owned else rows[:, 0].copy()
        found.sort()
        keep = np.ones(len(found), np.bool_)
        # np.unique uses hashes, and is 50 times slower.
        keep[1:] = found[1:] != found[:-1]
        found = found[keep]
        return found, found.reshape(-1, 1)
    order = np.argsort(keys)
    keys = keys[order]
    twins = np.flatnonzero(keys[1:] == keys[:-1])
    keep = np.ones(len(keys), np.bool_)
    if len(twins):
        same = (rows[order[twins]] == rows[order[twins + 1]]).all(axis=1)
        keep[twins[same] + 1] = False
        for key in set(keys[twins[~same]].tolist()):
            # Different rows share this key, so equal rows need not be neighbours.
            begin, end = np.searchsorted(keys, np.uint64(key), "left"), 0
            end = int(np.searchsorted(keys, np.uint64(key), "right"))
            met: set[bytes] = set()
            for at in range(int(begin), end):
                content = rows[order[at]].tobytes()
                keep[at] = content not in met
                met.add(content)
    return keys[keep], rows[order[keep]]


def known(keys: Keys, rows: Rows, run: Keys, rows_at: Callable[[Ints], Rows] | None) -> Flags:
    """Return a mask of the `rows` that a sorted run has.

    `keys`: the sorted keys of the rows.  `rows_at`: returns rows of the run; None if keys are rows.
    """
    found = np.zeros(len(keys), np.bool_)
    if len(run) == 0 or len(keys) == 0:
        return found
    places = sought(keys, run)
    inside = np.minimum(places, len(run) - 1)
    hits = run[inside] == keys
    if rows_at is None:
        return hits
    asked, at = np.flatnonzero(hits), inside[hits]
    while len(asked):
        same = (rows_at(at) == rows[asked]).all(axis=1)
        found[asked[same]] = True
        # The next row of the run may have the same key.
        asked, at = asked[~same], at[~same] + 1
        more = at < len(run)
        asked, at = asked[more], at[more]
        more = run[at] == keys[asked]
        asked, at = asked[more], at[more]
    return found
