"""Rows under renaming: exchanging two members, sorting them, trying every permutation.

All by look-up: `swap_field` and `swap_value` say where a field's value goes when members j
and j + 1 of the group change places, `swap_message` the same for messages of a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit
def swap(
    row: Any,
    other: Any,
    j: Any,
    fields: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    swap_field: Any,
    swap_value: Any,
    slot_mask: Any,
    slot_at: Any,
    slot_word: Any,
    slot_bit: Any,
    swap_message: Any,
) -> None:
    """Write `row` with members j and j + 1 of the group exchanged into `other`."""
    for w in range(len(row)):
        other[w] = 0
    other[0] = np.uint64(1) << np.uint64(63)
    for f in range(fields):
        value = np.int64((row[word[f]] >> shift[f]) & mask[f])
        to = swap_field[j, f]
        moved = np.uint64(swap_value[j, off[f] + value])
        other[word[to]] |= moved << shift[to]
    for w in range(len(row)):
        bits = row[w] & slot_mask[w]
        at = w * 64
        while bits != 0:
            if bits & np.uint64(1):
                m = swap_message[j, slot_at[at]]
                other[slot_word[m]] |= np.uint64(1) << slot_bit[m]
            bits >>= np.uint64(1)
            at += 1


@njit
def _differ(
    row: Any,
    j: Any,
    group: Any,
    fields: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    in_group: Any,
    own: Any,
    colour: Any,
    classes: Any,
    slot_word: Any,
    slot_bit: Any,
) -> Any:
    """Compare members j and j + 1 of the group: below 0, 0 or above 0."""
    one, two = group[j], group[j + 1]
    a = own[off[one] + np.int64((row[word[one]] >> shift[one]) & mask[one])]
    b = own[off[two] + np.int64((row[word[two]] >> shift[two]) & mask[two])]
    if a != b:
        return a - b
    for f in range(fields):
        if in_group[f] == 0:
            value = off[f] + np.int64((row[word[f]] >> shift[f]) & mask[f])
            a, b = colour[j, value], colour[j + 1, value]
            if a != b:
                return a - b
    for c in range(classes.shape[0]):
        m, n = classes[c, j], classes[c, j + 1]
        x = (row[slot_word[m]] >> slot_bit[m]) & np.uint64(1)
        y = (row[slot_word[n]] >> slot_bit[n]) & np.uint64(1)
        if x != y:
            return np.int32(np.int64(x) - np.int64(y))
    return np.int32(0)


@njit(cache=True)
def sort_members(
    rows: Any,
    group: Any,
    fields: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    in_group: Any,
    own: Any,
    colour: Any,
    classes: Any,
    swap_field: Any,
    swap_value: Any,
    slot_mask: Any,
    slot_at: Any,
    slot_word: Any,
    slot_bit: Any,
    swap_message: Any,
) -> None:
    other = np.zeros(rows.shape[1], np.uint64)
    for r in range(len(rows)):
        row = rows[r]
        for upto in range(1, len(group)):
            j = upto - 1
            while (
                j >= 0
                and _differ(
                    row,
                    j,
                    group,
                    fields,
                    word,
                    shift,
                    mask,
                    off,
                    in_group,
                    own,
                    colour,
                    classes,
                    slot_word,
                    slot_bit,
                )
                > 0
            ):
                swap(
                    row,
                    other,
                    j,
                    fields,
                    word,
                    shift,
                    mask,
                    off,
                    swap_field,
                    swap_value,
                    slot_mask,
                    slot_at,
                    slot_word,
                    slot_bit,
                    swap_message,
                )
                for w in range(len(row)):
                    row[w] = other[w]
                j -= 1


@njit(cache=True)
def least_permutation(
    rows: Any,
    swaps: Any,
    fields: Any,
    word: Any,
    shift: Any,
    mask: Any,
    off: Any,
    swap_field: Any,
    swap_value: Any,
    slot_mask: Any,
    slot_at: Any,
    slot_word: Any,
    slot_bit: Any,
    swap_message: Any,
) -> None:
    words = rows.shape[1]
    here = np.zeros(words, np.uint64)
    other = np.zeros(words, np.uint64)
    for r in range(len(rows)):
        for w in range(words):
            here[w] = rows[r, w]
        for k in range(len(swaps)):
            swap(
                here,
                other,
                swaps[k],
                fields,
                word,
                shift,
                mask,
                off,
                swap_field,
                swap_value,
                slot_mask,
                slot_at,
                slot_word,
                slot_bit,
                swap_message,
            )
            less = False
            for w in range(words):
                here[w] = other[w]
            for w in range(words):
                if here[w] != rows[r, w]:
                    less = here[w] < rows[r, w]
                    break
            if less:
                for w in range(words):
                    rows[r, w] = here[w]
