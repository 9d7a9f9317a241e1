"""Verdicts on claims, level by level, from the owners' counts."""

from __future__ import annotations

import numpy as np
from attrs import Factory, define

from joinproto.check.engine.claims.found import Hit
from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Rows
from spark_explore.keys import padded
from spark_explore.step import Counts


@define
class Verdicts:
    """The verdicts so far.

    `hits`: claims that were broken or reached; the `rows` of a broken one are a place in `targets`.
    `flags_any`: the flags of combinations that were set in some state.  `unmapped`: whether some
    state maps to no state of an abstract world.
    """

    search: Search
    hits: list[Hit] = Factory(list)
    targets: list[Rows] = Factory(list)
    flags_any: int = 0
    violated: bool = False
    unmapped: bool = False

    def judge(self, level: int, parts: list[Counts]) -> None:
        """Judge the claims by the owners' counts about the new states of a level."""
        judge = self.search.judge
        judge.refresh()
        seen = [
            sorted({number for item in parts if item.seen for number in item.seen[field]})
            for field in range(judge.watched)
        ]
        judge.mark(seen)
        words = self.search.tables.layout.words
        bad = [padded(item.bad, words) for item in parts if item.bad is not None]
        flags_any = 0
        for item in parts:
            flags_any |= item.flags_any
        self.flags_any |= flags_any
        wrong = [padded(item.flags_bad, words) for item in parts if item.flags_bad is not None]
        every = np.concatenate([np.zeros((0, words), np.uint64), *wrong])
        if any(self._breaking(claim, every).any() for claim in judge.implementing):
            self.unmapped = self.violated = True
        for claim in judge.claims:
            if not self.is_open(claim):
                continue
            whole = claim.property.scope == "world"
            match claim.property.kind:
                case "sometimes":
                    met = flags_any >> claim.bit & 1 if whole else judge.reaches(claim, seen)
                    if met:
                        self.hits.append(Hit(claim, level, np.zeros(0, np.int64)))
                case "always":
                    rows = np.concatenate(
                        [np.zeros((0, words), np.uint64), *(wrong if whole else bad)]
                    )
                    self._break(claim, level, rows[self._breaking(claim, rows)])

    def _break(self, claim: Claim, level: int, rows: Rows) -> None:
        if len(rows):
            self.hits.append(Hit(claim, level, np.array([len(self.targets)])))
            self.targets.append(rows)
            self.violated = True

    def _breaking(self, claim: Claim, rows: Rows) -> Flags:
        judge = self.search.judge
        if claim.asked is None and claim.property.scope != "world":
            every = np.arange(len(rows))
            return np.isin(every, judge.breaking(claim, rows, every))
        if len(rows) == 0:
            return np.zeros(0, np.bool_)
        return ~judge.have_bit(judge.number(rows, 0, len(rows)), claim.bit)

    def is_open(self, claim: Claim) -> bool:
        """Return whether the claim has been neither broken nor reached so far."""
        return all(hit.claim is not claim for hit in self.hits)
