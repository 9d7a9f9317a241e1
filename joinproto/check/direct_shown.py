"""The observations of a large member and of the other members, numbered: see `direct_large.py`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define

from joinproto.check.direct import JUDGE_EVERY
from joinproto.check.direct_member import DirectMember, Values
from joinproto.check.direct_rest import Rest
from joinproto.check.freeze import thaw
from joinproto.check.view import View
from joinproto.check.watchdog import WATCH


@define
class Observations:
    """The observations in all states that were judged.

    `values`: the attributes in each local state of the large member.  `of`: local state of the
    large member to the number of its observation; `of_rest`: the same for the rest, where an
    observation is that of each member (`of_others`).  If the large member shows its attributes, its
    local states and its observations have the same numbers.
    """

    member: DirectMember
    rest: Rest
    values: Sequence[Values]
    of: dict[int, int] = Factory(dict)
    of_rest: dict[int, int] = Factory(dict)
    of_others: list[tuple[Hashable, ...]] = Factory(list)
    _shows_itself: bool = Factory(lambda self: self.member.shows_itself, takes_self=True)
    _shown: list[Hashable] = Factory(list)
    _numbers: dict[Hashable, int] = Factory(dict)
    _numbers_of_others: dict[tuple[Hashable, ...], int] = Factory(dict)

    def observe(self, places: Iterable[int], is_over: Callable[[], bool]) -> Sequence[int]:
        """Number the observations in these local states, until `is_over`; return new numbers."""
        fresh = [place for place in places if place not in self.of]
        if self._shows_itself:
            self.of.update(zip(fresh, fresh, strict=True))
            return fresh
        before = len(self._shown)
        what = f"member {self.member.code.name}: {self.member.asks_to_show}"
        for first in range(0, len(fresh), JUDGE_EVERY):
            WATCH.run(what, partial(self._observe, fresh[first : first + JUDGE_EVERY]))
            if is_over():
                break
        return range(before, len(self._shown))

    def _observe(self, places: Sequence[int]) -> None:
        for place in places:
            WATCH.go_on()
            shown = self.member.shown(self.values[place])
            number = self._numbers.setdefault(shown, len(self._shown))
            if number == len(self._shown):
                self._shown.append(shown)
            self.of[place] = number

    def observe_rest(self, rests: set[int]) -> Sequence[int]:
        """Number the observations in these states of the rest; return the new numbers."""
        before = len(self.of_others)
        for around in sorted(rests.difference(self.of_rest)):
            shown = self.rest.steps.shown(self.rest.states[around])[0]
            number = self._numbers_of_others.setdefault(shown, len(self.of_others))
            if number == len(self.of_others):
                self.of_others.append(shown)
            self.of_rest[around] = number
        return range(before, len(self.of_others))

    def observation(self, shown: int) -> Any:
        """Return an observation of the large member as claims get it."""
        if self._shows_itself:
            return self.member.seen(self.values[shown])
        return thaw(self._shown[shown])

    def some(self, most: int) -> list[Any]:
        """Return the large member's observations; at most so many if they are its attributes.

        All of these have the same form.
        """
        numbers = [*self.of][:most] if self._shows_itself else range(len(self._shown))
        return [*map(self.observation, numbers)]

    def view(self, shown: int, rest_shown: int) -> View:
        """Return the view of all members with these two observations."""
        seen = [*map(thaw, self.of_others[rest_shown])]
        seen[self.rest.steps.large] = self.observation(shown)
        return View(self.rest.steps.codes.names, tuple(seen), (), None, None)
