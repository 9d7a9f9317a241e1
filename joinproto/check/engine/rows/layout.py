"""The place of each part of a state in its row of 64-bit words.

Fields hold numbers: the local state of a member, the content of a queue, the faults spent.  All
bits that are left over are message slots, one bit for each message of a message set.  How many
local states a member has is not known beforehand.  So when a number no longer fits,
`tables/arrays.py` gives its field more bits, and `space.py` packs all rows again.  A row always
holds the exact state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Ints, Keys, Row, Rows, SmallInts

OCCUPIED = np.uint64(1 << 63)
"""Set in word 0 of every row, so that no row is all zero."""

WIDTH_MAX = 32
"""`Layout.grown` gives no field more bits than this."""


class Places(NamedTuple):
    """The place of each field and of each message slot, as `Layout` has them."""

    word: Ints  # (field,): which word of the row
    shift: Keys  # (field,): how far left in it
    mask: Keys  # (field,): its bits, once they are shifted back
    slot_word: Ints  # (slot,): the word of its bit
    slot_bit: Keys  # (slot,): the number of its bit
    slot_mask: Row  # which bits of a row's words are slots
    slot_at: SmallInts  # (64 * word + bit,) -> slot or -1


class Layout:
    """The layout of a row.  `widths`: each field's bits.  `slots`: the fewest message slots."""

    def __init__(self, widths: list[int], slots: int, words: int = 1) -> None:
        self.widths = list(widths)
        self.slots = slots
        # Fewer words than that have too few bits; one bit is `OCCUPIED`.
        words = max(words, -(-(sum(widths) + slots + 1) // 64))
        while not self._place(words):
            words += 1

    def _place(self, words: int) -> bool:
        free = [64] * words
        free[0] = 63
        used = [0] * words
        # Placing the widest fields first wastes the fewest bits.  Fields of equal width keep their
        # order, so that equal widths always give the same layout.
        order = sorted(range(len(self.widths)), key=lambda f: (-self.widths[f], f))
        places: dict[int, tuple[int, int]] = {}
        w = before = 0
        for f in order:
            width = self.widths[f]
            # A word with no room for a field has none for the next field of that width.
            w = w if width == before else 0
            while w < words and free[w] < width:
                w += 1
            if w == words:
                return False
            places[f] = (w, used[w])
            used[w] += width
            free[w] -= width
            before = width
        if sum(free) < self.slots:
            return False
        at = [places[f] for f in range(len(self.widths))]
        self.words = words
        self.word = np.array([w for w, _ in at] or [0], np.int64)
        self.shift = np.array([s for _, s in at] or [0], np.uint64)
        self.mask = np.array([(1 << width) - 1 for width in self.widths] or [0], np.uint64)
        tops = [63] + [64] * (words - 1)
        slots = [(w, bit) for w in range(words) for bit in range(used[w], tops[w])]
        self.slot_word = np.array([w for w, _ in slots], np.int64)
        self.slot_bit = np.array([bit for _, bit in slots], np.uint64)
        self.capacity = len(slots)
        self.slot_mask = np.zeros(words, np.uint64)
        self.slot_at = np.full(words * 64, -1, np.int32)
        for m, (w, bit) in enumerate(slots):
            self.slot_mask[w] |= np.uint64(1 << bit)
            self.slot_at[w * 64 + bit] = m
        return True

    @property
    def places(self) -> Places:
        """The places as the compiled loops read them."""
        return Places(*(getattr(self, name) for name in Places._fields))

    def grown(self, counts: list[int], slots: int | None = None) -> Layout:
        """Return a layout with room for `counts` values in each field and `slots` messages.

        `slots`: None means that no message is ever a bit.  Then the fields share the spare bits of
        the words equally, so that rows need not be packed again soon.  Otherwise a field that is
        too small gets the bits that it needs, and all such fields one more if that costs no word.
        """
        if slots is None:
            found = Layout([(count - 1).bit_length() for count in counts], 0, self.words)
            while max(found.widths, default=WIDTH_MAX) < WIDTH_MAX:
                wider = Layout([width + 1 for width in found.widths], 0, found.words)
                if wider.words > found.words:
                    break
                found = wider
            return found
        need = [
            max(width, (count - 1).bit_length())
            for width, count in zip(self.widths, counts, strict=True)
        ]
        roomy = [
            width + 1 if width > old else width
            for width, old in zip(need, self.widths, strict=True)
        ]
        if Layout(need, slots, self.words).words == Layout(roomy, slots, self.words).words:
            need = roomy
        return Layout(need, slots, self.words)

    @property
    def bits(self) -> int:
        return sum(self.widths) + 1

    def pack(self, values: Ints, messages: list[int]) -> Row:
        """Return the row, shape (word,), with one of `values` in each field and with `messages`."""
        row = np.zeros(self.words, np.uint64)
        row[0] = OCCUPIED
        for f, value in enumerate(values):
            row[self.word[f]] |= np.uint64(int(value) << int(self.shift[f]))
        for m in messages:
            row[self.slot_word[m]] |= np.uint64(1 << int(self.slot_bit[m]))
        return row

    def fields(self, row: Row) -> list[int]:
        return [
            (int(row[self.word[f]]) >> int(self.shift[f])) & int(self.mask[f])
            for f in range(len(self.widths))
        ]

    def values(self, rows: Rows, field: int) -> Ints:
        """Return the number in a field of each row."""
        found = (rows[:, self.word[field]] >> self.shift[field]) & self.mask[field]
        return found.astype(np.int64)

    def messages(self, row: Row) -> list[int]:
        found = []
        for w in range(self.words):
            word = int(row[w]) & int(self.slot_mask[w])
            while word:
                low = word & -word
                found.append(int(self.slot_at[w * 64 + low.bit_length() - 1]))
                word ^= low
        return sorted(found)

    def repack(
        self, rows: Rows, count: int, old: Layout, messages: int, into: Rows | None = None
    ) -> Rows:
        """Return `rows[:count]`, which are packed by `old`, packed by this layout.

        The result is written to `into`, if that is given.  Otherwise, if rows keep their number of
        words, `rows` is changed in place and returned.
        """
        fresh = rows
        if into is not None:
            fresh = into
        elif self.words != old.words:
            fresh = np.empty((count, self.words), np.uint64)
        _repack(rows, count, fresh, old.places, self.places, messages, len(self.widths))
        return fresh[:count]


@njit(inline="always")
def get(rows: Rows, r: Any, places: Any, field: Any) -> Any:
    """Return the number in a field of row r, int64.

    `places`: a `Places`, or another tuple with its `word`, `shift` and `mask`.
    """
    return np.int64((rows[r, places.word[field]] >> places.shift[field]) & places.mask[field])


@njit(cache=True)
def _repack(
    rows: Rows, count: Any, fresh: Rows, old: Places, new: Places, messages: Any, fields: Any
) -> None:
    one = np.uint64(1)
    row = np.zeros(fresh.shape[1], np.uint64)
    for i in range(count):
        row[:] = 0
        row[0] = one << np.uint64(63)
        for f in range(fields):
            row[new.word[f]] |= np.uint64(get(rows, i, old, f)) << new.shift[f]
        for m in range(messages):
            bit = (rows[i, old.slot_word[m]] >> old.slot_bit[m]) & one
            row[new.slot_word[m]] |= bit << new.slot_bit[m]
        for w in range(len(row)):
            fresh[i, w] = row[w]
