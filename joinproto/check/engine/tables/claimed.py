"""Verdicts of local claims on the observations for which they were evaluated.

Observations are named by number, so the verdicts can be stored with the numbering for the next
search of the same code (`numbering.py`).  That search evaluates claims on new observations, and on
a sample of the known ones again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from joinproto.check.asking import ask
from joinproto.check.engine.shapes import Flags, Ints, Masks, Table
from joinproto.check.engine.tables.numbers import Observations
from joinproto.check.properties import Property
from joinproto.check.view import DOWN
from joinproto.check.world import World

Key = tuple[int, int, int, int]
"""Field and number of two observations; for a claim about one observation, twice the same."""


class ClaimVerdicts:
    """The observations that break local claims.

    `names`: the claims' names.  `counts`: for each watched field, the number of observations, from
    the first on, for which the claims were evaluated.
    """

    def __init__(self, names: Sequence[str] = (), watched: int = 0) -> None:
        self.names = tuple(names)
        self.counts = [0] * watched
        # Breaking observations in the order found, and the claim of `names` that each breaks.
        self._rows, self._which = np.empty((0, 4), np.int64), np.empty(0, np.int64)
        # The result of `broken`, made of the first `_listed` findings.
        self._broken: dict[Key, list[str]] = {}
        self._listed = 0
        self._breaking = BreakingObservations.of(self.counts, ())

    def __len__(self) -> int:
        """Return the number of findings: pairs of breaking observations and a claim."""
        return len(self._rows)

    def add(self, name: str, rows: Table) -> None:
        """Add observations that break the claim `name`: rows, each a `Key`."""
        if len(rows) == 0:
            return
        which = np.full(len(rows), self.names.index(name))
        self._rows = np.concatenate([self._rows, rows])
        self._which = np.concatenate([self._which, which])

    def since(self, known: int) -> dict[Key, list[str]]:
        """Return the findings after the first `known`: breaking observations, and their claims."""
        found: dict[Key, list[str]] = {}
        rows, which = self._rows[known:].tolist(), self._which[known:].tolist()
        for (a, b, c, d), at in zip(rows, which, strict=True):
            found.setdefault((a, b, c, d), []).append(self.names[at])
        return found

    @property
    def broken(self) -> dict[Key, list[str]]:
        """The observations that break claims, with the claims, in the order found."""
        for key, names in self.since(self._listed).items():
            self._broken.setdefault(key, []).extend(names)
        self._listed = len(self)
        return self._broken

    def forget(self, known: int) -> None:
        """Keep only the first `known` findings."""
        self._rows, self._which = self._rows[:known], self._which[:known]
        if self._listed > known:
            self._broken, self._listed = {}, 0

    @property
    def breaking_observations(self) -> BreakingObservations:
        """All observations found to break a claim, as the compiled loops read them."""
        if self._breaking.counts != tuple(self.counts):
            self._breaking = BreakingObservations.of(self.counts, self._rows)
        return self._breaking

    def __getstate__(self) -> dict[str, Any]:
        found = self._rows.astype(np.int32), self._which.astype(np.int16)
        return {"names": self.names, "counts": self.counts, "found": found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["names"], len(state["counts"]))  # type: ignore[misc]
        self.counts = state["counts"]
        self._rows, self._which = (array.astype(np.int64) for array in state["found"])

    def samples(
        self, world: World, names: Sequence[str], shown: Sequence[Observations], most: int
    ) -> Iterator[bool]:
        """Yield, for random observations, whether claims still give the stored verdict.

        `most`: how many observations for each claim; and as many that break any claim.
        `names`: the members' names; `shown`: the observations of each field.
        """
        claims = [item for item in world.properties if item.name in self.names]
        places = {
            item.name: [
                place
                for place in places_of(item, names, len(self.counts))
                if all(self.counts[at] for at in place)
            ]
            for item in claims
        }
        breaking, rows = self.breaking_observations, self._rows

        def holds(item: Property, key: Key) -> bool:
            field, number, other, other_number = key
            asked = [(field, number), (other, other_number)][: 1 if field == other else 2]
            seen = [shown[at][one].shown for at, one in asked]
            return any(one is DOWN for one in seen) or ask(item, item.holds, *seen)

        for item in claims:
            here = places[item.name]
            for field, other in random.choices(here, k=most) if here else ():
                number, partner = (random.randrange(self.counts[at]) for at in (field, other))
                key = field, number, other, number if field == other else partner
                yield breaking.has(key) or holds(item, key)
        for row in random.sample(range(len(rows)), min(most, len(rows))):
            key = tuple(rows[row].tolist())
            about = [item for item in claims if key[::2] in places[item.name]]
            yield not all(holds(item, key) for item in about)


def places_of(item: Property, names: Sequence[str], watched: int) -> list[tuple[int, int]]:
    """Return the pairs of watched fields that a claim sees; twice the same field if it sees one.

    `names`: the members' names, whose fields come first; `watched`: the number of watched fields.
    """
    among = [field for field, name in enumerate(names) if name in (item.among or names)]
    monitor = range(len(names), watched)
    if item.scope in ("each", "monitor"):
        return [(field, field) for field in (among if item.scope == "each" else monitor)]
    others: Iterable[int] = among if item.scope == "pair" else monitor
    return [(field, other) for field in among for other in others if field != other]


def is_kept(item: Property) -> bool:
    """Return whether a claim's verdicts are kept here."""
    return item.kind == "always" and item.scope not in ("world", "step")


@frozen
class BreakingObservations:
    """The observations that break a local claim, alone or in pairs.

    `counts`: the number of observations of each watched field (members, then the monitor if there
    is one).  `base`: the place of each field's first observation in one common numbering.
    `conflicts`: for each observation, as bits, the observations with which it breaks a claim, in
    either order.  It may have no columns if no observation breaks a claim.
    """

    counts: tuple[int, ...]
    base: Ints
    conflicts: Masks

    @classmethod
    def of(
        cls, counts: Sequence[int], broken: Table | Sequence[Sequence[int]]
    ) -> BreakingObservations:
        """Return the tables of `broken`, rows of (field, number, other field, other number)."""
        base = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        total = max(2, sum(counts))
        # Without breaking observations, large tables have no column: nothing is compared.
        width = (total + 63) // 64 if len(broken) or total <= 64 else 0
        conflicts = np.zeros((total, width), np.uint64)
        if len(broken):
            one, number, other, other_number = np.asarray(broken, np.int64).T
            other_at = base[other] + other_number
            one_at = base[one] + number
            for at, partner in ((one_at, other_at), (other_at, one_at)):
                bits = np.uint64(1) << (partner & 63).astype(np.uint64)
                np.bitwise_or.at(conflicts, (at, partner >> 6), bits)
        return cls(tuple(counts), base, conflicts)

    def has(self, key: tuple[int, int, int, int]) -> bool:
        """Return whether the two observations of `key`, as in `Key`, break a claim."""
        field, number, other, other_number = key
        at = int(self.base[other]) + other_number
        bits = self.conflicts[int(self.base[field]) + number]
        return len(bits) > 0 and bool(int(bits[at >> 6]) >> (at & 63) & 1)

    def by_field(self, seen: Flags) -> list[list[int]]:
        """Return the numbers of the seen observations of each watched field."""
        parts = zip(self.base.tolist(), self.counts, strict=True)
        return [np.flatnonzero(seen[at : at + count]).tolist() for at, count in parts]
