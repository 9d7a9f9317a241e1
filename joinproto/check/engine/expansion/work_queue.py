"""The rows of one round, handed out to workers in pieces that keep a worker busy for a moment."""

from __future__ import annotations

from itertools import count

from attrs import define

ROWS_MAX = 1 << 20
"""The most rows that are handed out in a round."""

_PIECE_MAX = 1 << 14
"""The most rows in a piece.  Neighbouring rows need the same answers, so with a quarter as many,
`join` takes a twentieth longer.
"""


@define
class WorkerCounts:
    """The counts of one worker in a round.

    `found`: successors.  `redone`: rows to expand again.  `loops`: steps that were only counted.
    `answered`: questions that have an answer now.
    """

    found: int = 0
    redone: int = 0
    loops: int = 0
    answered: int = 0

    def add(self, found: int, redone: int, loops: int) -> None:
        """Add the counts of one call of the loop."""
        self.found += found
        self.redone += redone
        self.loops += loops


class WorkQueue:
    """Hands out rows `at` to `upto` to `workers` workers.

    The round ends when no rows are left.  After `least` rows it also ends if there are new answers
    to read (`is_asked`, and `is_answered` by the first worker), or if rows lack an answer
    (`lacks`) and the first worker is free.  `waits`: some worker has no more work.
    """

    def __init__(self, at: int, upto: int, least: int, workers: int) -> None:
        self._upto = upto
        most = min(_PIECE_MAX, ROWS_MAX // (4 * workers))
        self._size = min(most, max(64, (upto - at) // (8 * workers)))
        self._least = at + least
        # Each worker may take one more piece before it sees that the bound is reached.
        self._most = at + ROWS_MAX - workers * self._size
        self._next = count(at, self._size)
        self._given_back: list[tuple[int, int]] = []
        self._reached = at
        self.is_asked = self.is_answered = self.lacks = self.waits = False

    def take(self) -> tuple[int, int]:
        """Return (begin, end) of rows that no other worker gets, or (0, 0) if none are left."""
        reached = self._reached
        is_more = self.is_answered and (self.is_asked or self.lacks)
        if self._given_back or reached >= self._most or (is_more and reached >= self._least):
            return 0, 0
        # `next` is one call, so no other thread gets the same piece.
        begin = next(self._next)
        if begin >= self._upto:
            return 0, 0
        if begin >= self._most:
            self.give_back(begin, min(self._upto, begin + self._size))
            return 0, 0
        self._reached = max(self._reached, begin + self._size)
        return begin, min(self._upto, begin + self._size)

    def give_back(self, begin: int, end: int) -> None:
        """Take back rows for which there was no room; from then on `take` hands out no rows."""
        self._given_back.append((begin, end))

    def left(self) -> list[tuple[int, int]]:
        """Return the rows that were not expanded, as pieces in reverse order, after the round."""
        reached = min(next(self._next), self._upto)
        rest = [(reached, self._upto)] if reached < self._upto else []
        return rest + sorted(self._given_back, reverse=True)
