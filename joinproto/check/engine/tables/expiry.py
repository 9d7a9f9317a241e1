"""The messages of a set that are still of use, by each member's progress, its horizon.

A message is removed from a row as soon as no member can use it: see `World.expiry`.  The masks here
have, for each member and each horizon, the bits of the messages that the member can use there, and
all bits of a row that never expire.  `expire` in `kernel.py` keeps the messages that any member can
use, and removes the others; where contents are numbered, `contents.py` does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Ints, Masks
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.freeze import thaw
from joinproto.check.problems import ModelProblem
from joinproto.check.world import World

HORIZONS_MAX = 1_000
"""The result of a member's `horizon()` must be less than this."""


class Expiry:
    """The stamps of messages (the last horizon of a member that can use it), and the masks.

    `horizons`: the number of horizons, one more than the largest so far.
    """

    def __init__(self, world: World, names: tuple[str, ...]) -> None:
        self._expiry = world.expiry
        self._number_of = {name: at for at, name in enumerate(names)}
        self.horizons = 1
        self._stamps: list[tuple[tuple[int, int], ...]] = []
        self._compared = 0
        self._masks = np.zeros((1, 1), np.uint64)
        self._made_for: tuple[Layout | None, int, int] = None, 0, 0

    @property
    def known(self) -> int:
        """The number of messages noted so far."""
        return len(self._stamps)

    def horizon(self, found: int) -> int:
        """Note a member's horizon and return it; raise `ModelProblem` if it is out of range."""
        if not 0 <= found < HORIZONS_MAX:
            raise ModelProblem(
                f"a member's horizon is {found}", next=f"count from 0, below {HORIZONS_MAX}"
            )
        self.horizons = max(self.horizons, found + 1)
        return found

    def add(self, sender: str | None, to: str | None, content: Hashable) -> None:
        """Note the stamps of the next message; messages come in the order of their numbers."""
        if self._expiry is None:
            return
        stamps = list(self._expiry(sender, to, thaw(content)))
        for name, _ in stamps:
            if name not in self._number_of:
                raise ModelProblem(
                    f"a message expires with {name!r}, which is not a member",
                    next="members are " + ", ".join(self._number_of),
                )
        self._stamps.append(tuple((self._number_of[name], stamp) for name, stamp in stamps))

    def require_alike(self, images: Sequence[Growing], swap_field: Ints) -> None:
        """Raise `ModelProblem` if a new message and its images have different stamps.

        `images`: for each swap of members, the number of each message after it.  `swap_field`:
        int64, shape (swaps, fields), the field that a member gets.
        """
        for message in range(self._compared, len(self._stamps)):
            for j, moved in enumerate(images):
                own = {(int(swap_field[j, m]), stamp) for m, stamp in self._stamps[message]}
                if own != set(self._stamps[int(moved.array[message])]):
                    raise ModelProblem(
                        "expiry(sender, to, content) changes when members are renamed",
                        next="make it the same for interchangeable members, or run with"
                        " --no-symmetry",
                    )
        self._compared = len(self._stamps)

    def of_use(self, messages: tuple[int, ...], horizons: tuple[int, ...]) -> tuple[int, ...]:
        """Return the `messages` that some member can use, with members at these horizons."""
        stamps = self._stamps
        return tuple(
            message
            for message in messages
            if not stamps[message] or any(horizons[m] <= stamp for m, stamp in stamps[message])
        )

    def of_use_until(self, message: int, member: int) -> int:
        """Return the last horizon at which a member can use a message; -1 if it never can.

        `HORIZONS_MAX` means that the message never expires.
        """
        stamps = self._stamps[message] if self._expiry is not None else ()
        if not stamps:
            return HORIZONS_MAX
        last = max((stamp for m, stamp in stamps if m == member), default=-1)
        return min(max(last, -1), HORIZONS_MAX)

    def needed(self, layout: Layout) -> Masks:
        """Return, for each member and horizon, which bits of a row it needs.

        Result: uint64, shape (member * horizons + horizon, word).
        """
        if self._expiry is None:
            return self._masks
        made, *counts = self._made_for
        if made is layout and counts == [len(self._stamps), self.horizons]:
            return self._masks
        self._made_for = layout, len(self._stamps), self.horizons
        members, horizons = len(self._number_of), self.horizons
        masks = np.full((members * horizons, layout.words), ~np.uint64(0), np.uint64)
        for message, stamps in enumerate(self._stamps):
            if not stamps:
                continue
            word, bit = layout.slot_word[message], np.uint64(1) << layout.slot_bit[message]
            masks[:, word] &= ~bit
            for member, stamp in stamps:
                upto = min(stamp + 1, horizons)
                masks[member * horizons : member * horizons + max(0, upto), word] |= bit
        self._masks = masks
        return masks
