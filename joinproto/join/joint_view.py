"""The choice of members for the next view: a group of members that all hear each other.

A view is active once each member has heard from every other member that it is ready, and a member
that does not hear a member of its view asks for another view.  So two members that do not hear each
other end their view, and the next view that has both, too.

Source: join protocol, 3.4.  Safety does not depend on this module: it only selects members among
those members that may be in the view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from attrs import frozen

from joinproto.join.view import Seat, View

GROUPS_MAX = 1_000
"""The most groups to compare; five members form at most six groups."""


@frozen(cache_hash=True)
class CutPairs:
    """Pairs of members that do not hear each other.

    `pairs`: names (a, b), where a reports that it does not hear b; one report is enough.
    """

    pairs: frozenset[tuple[str, str]] = frozenset()

    def groups(self, names: Collection[str]) -> Iterator[frozenset[str]]:
        """Yield the largest groups of `names` that all hear each other, none within another.

        They come in the same order each time, at most `GROUPS_MAX` of them.
        """
        deaf = self._deaf(names)
        hearing_all = frozenset(names).difference(deaf)
        return islice((hearing_all | some for some in _groups(deaf)), GROUPS_MAX)

    def as_told_by(self, name: str, misses: frozenset[str]) -> CutPairs:
        """Return the cut pairs after `name` has reported again which members it does not hear."""
        others = {pair for pair in self.pairs if pair[0] != name}
        return CutPairs(frozenset(others | {(name, missed) for missed in misses}))

    def among(self, names: Collection[str]) -> bool:
        """Return whether any two of these members do not hear each other."""
        return bool(self._deaf(names))

    def _deaf(self, names: Collection[str]) -> dict[str, frozenset[str]]:
        """Return for each member the members from which it is cut off.

        A member that hears all others, and that they hear, is left out.
        """
        deaf: dict[str, frozenset[str]] = {}
        for one, other in self.pairs:
            if one in names and other in names and one != other:
                deaf[one] = deaf.get(one, frozenset()) | {other}
                deaf[other] = deaf.get(other, frozenset()) | {one}
        return deaf


@frozen
class JointView:
    """Selects the members of the view after `tip`.

    `apart`: the pairs that do not hear each other.  `outside`: an outside register chooses, so no
    majority is needed.
    """

    tip: View
    apart: CutPairs
    outside: bool

    def best(
        self,
        there: frozenset[Seat],
        needs: Collection[frozenset[Seat]],
        *,
        was_active: bool,
    ) -> frozenset[Seat]:
        """Return the members of the next view: all of `there`, unless two of them are apart.

        Then it is the best group that has a seat of each set in `needs`, or all of `there` if no
        group has.  `was_active`: N was reached before, and no longer counts.
        """
        seats = {seat.member: seat for seat in there}
        if not self.apart.among(seats.keys()):
            return there
        groups = [
            frozenset(seats[name] for name in names) for names in self.apart.groups(seats.keys())
        ]
        fit = [group for group in groups if all(group & some for some in needs)]

        def worth(group: frozenset[Seat]) -> tuple[bool, bool, bool, int, int]:
            has_n = was_active or len(group) >= self.tip.wait_for
            # A member that hears no majority is suspended; if it is the sequencer, no frame is
            # ordered.
            serve = all(map(self._hears_majority, group))
            chooses = self.may_choose(group)
            return has_n, chooses, serve, len(group & self.tip.members), len(group)

        # The first of equal groups: `groups` has them in the same order each time.
        return max(fit, key=worth, default=there)

    def may_choose(self, group: Collection[Seat]) -> bool:
        """Return whether the seats of `group` can choose the next view alone."""
        return self.outside or self.tip.is_majority(group)

    def others_may_choose(self, me: str, misses: frozenset[str]) -> bool:
        """Return whether a majority of the electors may hear each other.

        `misses`: the members that `me` does not hear.  A link on which no member has reported is
        assumed to work.
        """
        names = {seat.member: seat for seat in self.tip.electors}
        groups = self.apart.as_told_by(me, misses).groups(names.keys())
        return any(self.tip.is_majority({names[name] for name in group}) for group in groups)

    def _hears_majority(self, seat: Seat) -> bool:
        missed = {other for one, other in self.apart.pairs if one == seat.member}
        return self.may_choose({one for one in self.tip.electors if one.member not in missed})


def _groups(deaf: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    """Yield the groups as Bron and Kerbosch do (1973, with a pivot).

    Members that hear the most others come first.
    """

    def grow(
        group: frozenset[str], more: list[str], done: frozenset[str]
    ) -> Iterator[frozenset[str]]:
        if not more:
            if not done:
                yield group
            return
        # Each group has the pivot, or a member that is apart from it.
        pivot = min((*more, *sorted(done)), key=lambda name: len(deaf[name].intersection(more)))
        for name in [one for one in more if one == pivot or one in deaf[pivot]]:
            more = [other for other in more if other != name]
            later = [other for other in more if other not in deaf[name]]
            yield from grow(group | {name}, later, done - deaf[name])
            done |= {name}

    return grow(frozenset(), sorted(deaf, key=lambda name: (len(deaf[name]), name)), frozenset())
