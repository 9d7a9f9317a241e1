"""Rows of one round, handed out to workers: to each as many at a time as keep it busy a moment."""

from __future__ import annotations

from itertools import count

from attrs import define

ROWS_MAX = 1 << 20
"""Rows handed out in a round, at most."""

_AT_A_TIME = 1 << 14
"""Rows at a time, at most.  Neighbouring rows need the same answers: with a quarter as many, `join`
takes a twentieth longer.
"""


@define
class Done:
    """The results of one worker in a round: successors, rows that lack an answer, steps that change
    nothing, questions that have an answer now.
    """

    found: int = 0
    redone: int = 0
    loops: int = 0
    answered: int = 0

    def add(self, found: int, redone: int, loops: int) -> None:
        """Count the expanded rows."""
        self.found += found
        self.redone += redone
        self.loops += loops


class WorkQueue:
    """Hands out rows `at` to `upto` to so many `workers`.

    It ends when no rows are left.  It also ends once `least` rows were handed out and other work
    waits: the first worker has answered (`is_answered`) questions (`is_asked`), or rows lack an
    answer (`lacks`).  `waits`: some worker has no more work.
    """

    def __init__(self, at: int, upto: int, least: int, workers: int) -> None:
        self._upto = upto
        most = min(_AT_A_TIME, ROWS_MAX // (4 * workers))
        self._size = min(most, max(64, (upto - at) // (8 * workers)))
        self._least = at + least
        # Each worker may be handed out some more before it sees that these were.
        self._most = at + ROWS_MAX - workers * self._size
        self._next = count(at, self._size)
        self._given_back: list[tuple[int, int]] = []
        self._reached = at
        self.is_asked = self.is_answered = self.lacks = self.waits = False

    def take(self) -> tuple[int, int]:
        """Return rows (begin, end) that no other worker gets; (0, 0) where there are none."""
        reached = self._reached
        is_more = self.is_answered and (self.is_asked or self.lacks)
        if self._given_back or reached >= self._most or (is_more and reached >= self._least):
            return 0, 0
        # One call, so no other thread gets the same.
        begin = next(self._next)
        if begin >= self._upto:
            return 0, 0
        if begin >= self._most:
            self.give_back(begin, min(self._upto, begin + self._size))
            return 0, 0
        self._reached = max(self._reached, begin + self._size)
        return begin, min(self._upto, begin + self._size)

    def give_back(self, begin: int, end: int) -> None:
        """Take rows back for which there was no room; no others are handed out then."""
        self._given_back.append((begin, end))

    def left(self) -> list[tuple[int, int]]:
        """Return the rows that no worker took, the first last, at the end of the round."""
        reached = min(next(self._next), self._upto)
        rest = [(reached, self._upto)] if reached < self._upto else []
        return rest + sorted(self._given_back, reverse=True)
