"""The results of a search: its levels, and the first states that break or reach each claim."""

from __future__ import annotations

import numpy as np
from attrs import Factory, define

from joinproto.check.engine.claims.judge import Claim, Judge
from joinproto.check.engine.shapes import Ints, Rows


@define
class Hit:
    """The first states that break or reach a claim: the level and the rows."""

    claim: Claim
    level: int
    rows: Ints


@define
class Found:
    """The results of a search that ended or was stopped."""

    levels: list[int] = Factory(list)  # first row of each level, and one past the last
    generated: int = 0
    hits: list[Hit] = Factory(list)
    stopped_by: str = ""
    violated: bool = False
    unmapped: bool = False  # some state stands for no state of the abstract world
    seconds: float = 0.0
    frontier: int = 0

    def is_open(self, claim: Claim) -> bool:
        """Return whether the claim must be judged on further levels."""
        kind = claim.property.kind
        return kind == "always" or (kind == "sometimes" and not self._has(claim))

    def _has(self, claim: Claim) -> bool:
        return any(hit.claim is claim for hit in self.hits)

    def hit(self, claim: Claim, level: int, rows: Ints) -> None:
        """Note the rows of a level that break or reach the claim, if they are the first."""
        if len(rows) and not self._has(claim):
            self.hits.append(Hit(claim, level, rows.astype(np.int64)))
            if claim.property.kind == "always":
                self.violated = True

    def judge(self, judge: Judge, level: int, rows: Rows, *, joint: bool) -> Ints | None:
        """Judge the rows of one level; return their combination numbers if `joint` steps need them.

        `rows`: the rows of all levels.
        """
        begin, end = self.levels[level], self.levels[level + 1]
        if begin == end:
            return None
        bad = judge.watch(rows, begin, end)
        if len(bad):
            for claim in judge.local:
                if claim.property.kind == "always":
                    self.hit(claim, level, judge.breaking(claim, rows, bad))
        for claim in judge.local:
            if claim.property.kind == "sometimes" and self.is_open(claim):
                self.hit(claim, level, judge.reached(claim, rows, begin, end))
        if not judge.combines:
            return None
        open_claims = [claim for claim in judge.whole if self.is_open(claim)]
        if not (open_claims or judge.implementing or joint):
            return None
        numbers = judge.number(rows, begin, end)
        for claim in open_claims:
            holds = judge.have_bit(numbers, claim.bit)
            if claim.property.kind == "always":
                self.hit(claim, level, begin + np.flatnonzero(~holds))
            elif claim.property.kind == "sometimes":
                self.hit(claim, level, begin + np.flatnonzero(holds))
        for claim in judge.implementing:
            if not judge.have_bit(numbers, claim.bit).all():
                # Some state here stands for no state that the abstract world can reach.
                self.unmapped = self.violated = True
        return numbers if joint else None
