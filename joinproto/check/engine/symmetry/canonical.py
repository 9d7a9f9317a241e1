"""Compiled loops that rename the members of rows: exchange two, sort all, try all permutations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from joinproto.check.engine.rows.bits import trailing_zeros
from joinproto.check.engine.rows.layout import Places
from joinproto.check.engine.shapes import (
    Block,
    Ints,
    Row,
    Rows,
    SmallFlags,
    SmallInts,
    Table,
)


class Swaps(NamedTuple):
    """The place of each field in a row, and its new place when members j and j + 1 of the group
    change places.
    """

    fields: int
    places: Places
    off: Ints
    swap_field: Table  # (j, field) -> field
    swap_value: Block  # (j, off[field] + value) -> value
    swap_message: Block  # (j, message of a set) -> message


class Order(NamedTuple):
    """The facts that distinguish members of the group, in the order of comparison."""

    group: Ints  # (member of the group,): its field
    own: SmallInts  # (off[field] + value,): colour of the member's own state
    in_group: SmallFlags  # (field,): whether it is a member of the group
    colour: Block  # (member of the group, off[field] + value)
    classes: Table  # (class, member of the group) -> message of a set


# These loops need no reference counting (_nrt), because they create no arrays.  `room`: uint64,
# shape (2, words).


@njit(inline="always")
def _place_of(row: Row, f: Any, s: Any) -> Any:
    """Return where the value of a field is in arrays of shape (off[field] + value,)."""
    at = s.places
    return s.off[f] + np.int64((row[at.word[f]] >> at.shift[f]) & at.mask[f])


@njit(cache=True, _nrt=False)
def swap(row: Row, other: Row, j: Any, s: Any) -> None:
    """Write `row` with members j and j + 1 of the group exchanged into `other`."""
    places = s.places
    for w in range(len(row)):
        other[w] = 0
    other[0] = np.uint64(1) << np.uint64(63)
    for f in range(s.fields):
        to = s.swap_field[j, f]
        moved = np.uint64(s.swap_value[j, _place_of(row, f, s)])
        other[places.word[to]] |= moved << places.shift[to]
    for w in range(len(row)):
        bits = row[w] & places.slot_mask[w]
        while bits != 0:
            at = w * 64 + np.int64(trailing_zeros(bits))
            m = s.swap_message[j, places.slot_at[at]]
            other[places.slot_word[m]] |= np.uint64(1) << places.slot_bit[m]
            bits &= bits - np.uint64(1)


@njit(_nrt=False)
def _differ(row: Row, j: Any, o: Any, s: Any) -> Any:
    """Compare members j and j + 1 of the group: return a number below 0, 0 or above 0."""
    places = s.places
    one, two = o.group[j], o.group[j + 1]
    a, b = o.own[_place_of(row, one, s)], o.own[_place_of(row, two, s)]
    if a != b:
        return a - b
    for f in range(s.fields):
        if o.in_group[f] == 0:
            value = _place_of(row, f, s)
            a, b = o.colour[j, value], o.colour[j + 1, value]
            if a != b:
                return a - b
    for c in range(o.classes.shape[0]):
        m, n = o.classes[c, j], o.classes[c, j + 1]
        x = (row[places.slot_word[m]] >> places.slot_bit[m]) & np.uint64(1)
        y = (row[places.slot_word[n]] >> places.slot_bit[n]) & np.uint64(1)
        if x != y:
            return np.int32(np.int64(x) - np.int64(y))
    return np.int32(0)


@njit(cache=True, nogil=True, _nrt=False)
def sort_members(rows: Rows, o: Any, s: Any, room: Rows) -> None:
    """Replace each row by its renaming in which the members of the group are in order."""
    other = room[0]
    for r in range(len(rows)):
        row = rows[r]
        for upto in range(1, len(o.group)):
            j = upto - 1
            while j >= 0 and _differ(row, j, o, s) > 0:
                swap(row, other, j, s)
                for w in range(len(row)):
                    row[w] = other[w]
                j -= 1


@njit(cache=True, nogil=True, _nrt=False)
def least_permutation(rows: Rows, swaps: Ints, s: Any, room: Rows) -> None:
    """Replace each row by the least of its images under `swaps`, applied one after another."""
    words = rows.shape[1]
    here, other = room[0], room[1]
    for r in range(len(rows)):
        least = rows[r]
        for w in range(words):
            here[w] = least[w]
        for k in range(len(swaps)):
            swap(here, other, swaps[k], s)
            here, other = other, here
            less = False
            for w in range(words):
                if here[w] != least[w]:
                    less = here[w] < least[w]
                    break
            if less:
                for w in range(words):
                    least[w] = here[w]
