"""The place of each part of a state in its row of 64-bit words.

Fields hold numbers: the local state of a member, the content of a queue, the faults spent. All bits
that are left over are message slots, one bit for each message of a message set. It is unknown
beforehand how many local states a member has.  So when a number no longer fits, `tables/arrays.py`
gives its field more bits, and `space.py` packs all rows again.  A row always holds the exact state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Ints, Keys, Row, Rows

OCCUPIED = np.uint64(1 << 63)
"""Set in word 0 of every row, so that no row is all zero."""

WIDTH_MAX = 32
"""More bits than any field needs."""


class Layout:
    """`widths`: bits of each field.  `slots`: message slots wanted at least."""

    def __init__(self, widths: list[int], slots: int, words: int = 1) -> None:
        self.widths = list(widths)
        self.slots = slots
        while not self._place(words):
            words += 1

    def _place(self, words: int) -> bool:
        free = [64] * words
        free[0] = 63
        used = [0] * words
        at: list[tuple[int, int]] = []
        # Widest first wastes least; ties in order, so that the same widths lie the same way.
        order = sorted(range(len(self.widths)), key=lambda f: (-self.widths[f], f))
        places: dict[int, tuple[int, int]] = {}
        for f in order:
            width = self.widths[f]
            for w in range(words):
                if free[w] >= width:
                    places[f] = (w, used[w])
                    used[w] += width
                    free[w] -= width
                    break
            else:
                return False
        if sum(free) < self.slots:
            return False
        at = [places[f] for f in range(len(self.widths))]
        self.words = words
        self.word = np.array([w for w, _ in at] or [0], np.int64)
        self.shift = np.array([s for _, s in at] or [0], np.uint64)
        self.mask = np.array([(1 << width) - 1 for width in self.widths] or [0], np.uint64)
        slot_word, slot_bit = [], []
        for w in range(words):
            top = 63 if w == 0 else 64
            for bit in range(used[w], top):
                slot_word.append(w)
                slot_bit.append(bit)
        self.slot_word = np.array(slot_word, np.int64)
        self.slot_bit = np.array(slot_bit, np.uint64)
        self.capacity = len(slot_word)
        self.slot_mask = np.zeros(words, np.uint64)
        for w, bit in zip(slot_word, slot_bit, strict=True):
            self.slot_mask[w] |= np.uint64(1 << bit)
        self.slot_at = np.full(words * 64, -1, np.int32)
        for m, (w, bit) in enumerate(zip(slot_word, slot_bit, strict=True)):
            self.slot_at[w * 64 + bit] = m
        return True

    def grown(self, counts: list[int], slots: int | None = None) -> Layout:
        """Return a layout with room for `counts` values in each field and `slots` messages.

        `slots` None: no message is ever a bit.  Then the spare bits of the words go to the
        fields, in equal parts: to pack all rows again costs more than spare bits.  Else only a
        field that is too small gets two bits where they cost no word, else one.
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
        """Return one row, shape (word,), of one number for each field and the set's messages."""
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
        """Return `rows[:count]`, packed by `old`, packed by this layout.

        They are written to `into`, if it is given.  Else, where a row keeps its number of words, in
        place: `rows` is changed and returned.
        """
        fresh = rows
        if into is not None:
            fresh = into
        elif self.words != old.words:
            fresh = np.empty((count, self.words), np.uint64)
        _repack(
            rows,
            count,
            fresh,
            old.word,
            old.shift,
            old.mask,
            old.slot_word,
            old.slot_bit,
            self.word,
            self.shift,
            self.slot_word,
            self.slot_bit,
            messages,
            len(self.widths),
        )
        return fresh[:count]


@njit(cache=True)
def _repack(
    rows: Rows,
    count: Any,
    fresh: Rows,
    word: Ints,
    shift: Keys,
    mask: Keys,
    slot_word: Ints,
    slot_bit: Keys,
    new_word: Ints,
    new_shift: Keys,
    new_slot_word: Ints,
    new_slot_bit: Keys,
    messages: Any,
    fields: Any,
) -> None:
    one = np.uint64(1)
    row = np.zeros(fresh.shape[1], np.uint64)
    for i in range(count):
        row[:] = 0
        row[0] = one << np.uint64(63)
        for f in range(fields):
            value = (rows[i, word[f]] >> shift[f]) & mask[f]
            row[new_word[f]] |= value << new_shift[f]
        for m in range(messages):
            bit = (rows[i, slot_word[m]] >> slot_bit[m]) & one
            row[new_slot_word[m]] |= bit << new_slot_bit[m]
        for w in range(len(row)):
            fresh[i, w] = row[w]
