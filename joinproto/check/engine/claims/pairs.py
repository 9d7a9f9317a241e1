"""Claims about pairs: a claim is evaluated once for each pair of values that members show.

Several members often show the same value, so verdicts belong to values and not to members.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.asking import ask_each, part_of
from joinproto.check.engine.shapes import Flags, Ints
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.engine.tables.numbers import Observations
from joinproto.check.memory import Budget
from joinproto.check.properties import Parts, Property
from joinproto.check.view import DOWN

if TYPE_CHECKING:
    from joinproto.check.engine.tables.numbers import Observed


UNASKED, HOLDS, BROKEN = range(3)

_UNNUMBERED = np.int64(-2)

_BATCH_PAIRS = 1 << 20
"""Pairs that are evaluated together."""


class ValueNumbers:
    """A number for each value that any member or the monitor shows.

    `of(field)` returns the number for each observation of a watched field, -1 for `DOWN`.
    """

    def __init__(self, shown: list[Observations], watched: int) -> None:
        self._shown = shown
        self._ids: dict[Hashable, int] = {}
        self._by_field = [Growing(np.int64) for _ in range(watched)]
        self._observed: list[Observed] = []

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, field: int) -> Ints:
        observations, ids = self._shown[field], self._by_field[field]
        for number in range(ids.count, len(observations.values)):
            observed = observations[number]
            if observed.shown is DOWN:
                ids.append(-1)
                continue
            known = self._ids.setdefault(observations.values[number][0], len(self._ids))
            if known == len(self._observed):
                self._observed.append(observed)
            ids.append(known)
        return ids.array[: ids.count]

    def shown(self, number: int) -> Any:
        """Return the observation with this number, as claims get it."""
        return self._observed[number].shown


class _Side:
    """The parts of observations that one side of a claim reads, numbered."""

    def __init__(self, item: Property, part: Callable[[Any], Any], ids: ValueNumbers) -> None:
        self._item, self._part, self._ids = item, part, ids
        self._parts = Observations()
        # The part's number for each value shown by fields of this side; others may lack the part.
        self._numbers = np.full(64, _UNNUMBERED)

    def __len__(self) -> int:
        return len(self._parts)

    def of(self, field: int) -> Ints:
        """Return the number of the part of each observation of a watched field, -1 for `DOWN`."""
        ids = self._ids.of(field)
        if len(self._ids) > len(self._numbers):
            grown = np.full(2 * len(self._ids), _UNNUMBERED)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        numbers = np.where(ids < 0, -1, self._numbers[ids])
        if (numbers == _UNNUMBERED).any():
            for number in np.unique(ids[numbers == _UNNUMBERED]).tolist():
                part = part_of(self._item, self._part, self._ids.shown(number))
                self._numbers[number] = self._parts.add((part, None))[0]
            numbers = np.where(ids < 0, -1, self._numbers[ids])
        return numbers

    def shown(self, number: int) -> Any:
        """Return the part that has this number, as the claim gets it."""
        return self._parts[number].shown


class Pairs:
    """The verdict of one claim on each pair of values, or of their parts if it is about parts.

    The verdicts are a square of int8, shape (one, other).  `budget` raises `MemoryLimitMet` if it
    would grow too large.
    """

    def __init__(self, item: Property, ids: ValueNumbers, budget: Budget) -> None:
        self._item, self._budget = item, budget
        self._sides: tuple[ValueNumbers | _Side, ValueNumbers | _Side] = (ids, ids)
        self._call: Callable[[Any, Any], Any] = item.holds
        if isinstance(item.holds, Parts):
            self._call, (one, other) = item.holds.func, item.holds.of
            side = _Side(item, one, ids)
            self._sides = side, side if other is one else _Side(item, other, ids)
        self._answers = np.full((64, 64), UNASKED, np.int8)

    def broken(
        self, field: int, other: int, before: list[int], counts: list[int]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield (numbers, others) of pairs with a new observation that break the claim."""
        self._make_room(field, other)
        new = slice(before[field], counts[field])
        yield from self._block(field, other, new, slice(0, counts[other]))
        yield from self._block(
            field, other, slice(0, before[field]), slice(before[other], counts[other])
        )

    def _make_room(self, field: int, other: int) -> None:
        one_side, other_side = self._sides
        one_side.of(field), other_side.of(other)
        count, before = max(len(one_side), len(other_side)), len(self._answers)
        if count > before:
            side = max(count, 2 * before)
            self._budget.claim(side * side)
            grown = np.full((side, side), UNASKED, np.int8)
            grown[:before, :before] = self._answers
            self._answers = grown

    def _block(
        self, field: int, other: int, numbers: slice, others: slice
    ) -> Iterator[tuple[Ints, Ints]]:
        one_side, other_side = self._sides
        to = other_side.of(other)[others]
        if len(to) == 0:
            return
        every = one_side.of(field)
        step = max(1, _BATCH_PAIRS // len(to))
        for first in range(numbers.start, numbers.stop, step):
            of = every[first : min(first + step, numbers.stop)]
            here = np.ix_(of, to)
            answers = self._answers[here]
            # DOWN, -1, has read the last row or column, which is wrong: such a pair never counts.
            answers[of < 0], answers[:, to < 0] = HOLDS, HOLDS
            if self._ask(of, to, answers == UNASKED):
                is_pair = answers == UNASKED
                answers = np.where(is_pair, self._answers[here], answers)
            rows, columns = np.nonzero(answers == BROKEN)
            yield first + rows, others.start + columns

    def _ask(self, of: Ints, to: Ints, unasked: Flags) -> bool:
        rows, columns = np.nonzero(unasked)
        if len(rows) == 0:
            return False
        side = len(self._answers)
        wanted = np.unique(of[rows] * side + to[columns])
        ones, others = divmod(wanted, side)
        one = map(self._sides[0].shown, ones.tolist())
        other = map(self._sides[1].shown, others.tolist())
        shown = zip(one, other, strict=True)
        answers = np.array(ask_each(self._item, self._call, shown), np.bool_)
        self._answers.ravel()[wanted] = np.where(answers, HOLDS, BROKEN)
        return True
