"""Whether some fair run breaks a claim, decided on tables of all states and steps.

The local engine looks for strongly connected components, which needs all steps in the memory of one
process (`fair_runs.py` in `joinproto/check/engine/liveness/`).  Reachability within a set does not
need that: round by round, each state learns what its successors can reach.  Take a region in which
a claim stays unmet.  The analysis removes

* a state that cannot, within the region, come to a step that fulfils a weak duty or to a state
  where no such step is possible;
* a state where a strong duty is possible, if it cannot come to a step that fulfils it.

It repeats that until it removes no more states (Emerson and Lei; for strong duties Kesten, Pnueli
and Raviv).  Among the remaining states, a part that no step leaves fulfils all duties.  No state
remains if no fair run stays in the region.

Duties are bits of a number, 62 at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import define, field
from pyspark.sql import functions as F  # noqa: N812  the usual name

from joinproto.check.engine.liveness.fair_runs import DutyBits
from spark_explore.listing import Listed, StoredFrame

BITS = 62
"""Duties in one number.  One more bit marks states of which one must come again and again."""

WANTED = 1 << BITS
ROUNDS_MAX = 10_000

HERE_MAX = 50_000
"""The most states and steps together for which the driver computes reachability itself."""


class TooManyRounds(Exception):
    """The analysis has not ended after `ROUNDS_MAX` rounds."""


@define
class Analysis:
    """The analysis of the tables, in rounds.  `kinds`: (info, changes) of each kind of step."""

    tables: Listed
    kinds: Any
    rounds: int = field(init=False, default=0)

    def _masks(self, masks: Any) -> Any:
        """Return the kinds of steps with their masks as a broadcast DataFrame."""
        rows = [
            (int(info), bool(changes), int(mask))
            for (info, changes), mask in zip(self.kinds, masks, strict=True)
        ]
        found = self.tables.session.createDataFrame(rows, "info long, changes boolean, mask long")
        return F.broadcast(found)

    def steps_with(self, masks: Any) -> Any:
        """Return all steps, with a column `mask`.

        `masks`: integers (kind,), one for each of `kinds`.
        """
        return self.tables.steps.join(self._masks(masks), ["info", "changes"])

    # -- reachability -----------------------------------------------------------------

    def spread(self, states: Any, pairs: Any) -> StoredFrame:
        """Return the states; the `mask` of each also has the bits of all states that it leads to.

        `states`: with columns id, mask, and others.  `pairs`: source and target of steps among
        these states.
        """
        pairs = pairs.select("source", "target").filter("source != target").distinct()
        pairs = self.tables.keep(pairs)
        now = self.tables.keep(states.withColumn("fresh", F.col("mask") != 0), F.col("fresh"))
        if pairs.rows + now.rows <= HERE_MAX:
            return self._spread_here(now, pairs)
        while now.wanted:
            self.rounds += 1
            if self.rounds > ROUNDS_MAX:
                raise TooManyRounds
            news = now.frame.filter("fresh").select(F.col("id").alias("target"), "mask")
            heard = pairs.frame.join(news, "target").groupBy(F.col("source").alias("id"))
            heard = heard.agg(F.expr("bit_or(mask)").alias("heard"))
            after = F.col("mask").bitwiseOR(F.coalesce("heard", F.lit(0)))
            told = now.frame.join(heard, "id", "left").withColumn("after", after)
            told = told.withColumn("fresh", F.col("after") != F.col("mask"))
            told = told.withColumn("mask", F.col("after")).drop("heard", "after")
            before, now = now, self.tables.keep(told, F.col("fresh"))
            before.drop()
        pairs.drop()
        return now

    def _spread_here(self, states: StoredFrame, pairs: StoredFrame) -> StoredFrame:
        """Do the work of `spread` in the driver, because a job takes longer for few rows."""
        held = np.array(states.frame.select("id", "mask").collect(), np.int64).reshape(-1, 2)
        held = held[np.argsort(held[:, 0])]
        ids, masks = held.T
        ends = np.array(pairs.frame.collect(), np.int64).reshape(-1, 2)
        source, target = np.searchsorted(ids, ends).T
        before = None
        while before is None or (masks != before).any():
            before = masks.copy()
            np.bitwise_or.at(masks, source, before[target])
        rows = list(zip(ids.tolist(), masks.tolist(), strict=True))
        told = self.tables.session.createDataFrame(rows, "id long, mask long")
        found = self.tables.keep(states.frame.drop("mask").join(told, "id"))
        states.drop()
        pairs.drop()
        return found

    # -- fair runs ---------------------------------------------------------------------

    def lasting(self, steps: Any, states: Any, bits: list[DutyBits], wanted: Any) -> StoredFrame:
        """Return the rows of `states` among which some fair run can stay.

        `steps`, `states`: the region.  `wanted`: a column that is true for the states of which
        one must come again and again; None if there is no such condition.
        """
        alive = self.tables.keep(states)
        inside = self.tables.keep(steps.select("source", "target", "info", "changes"))
        if not bits and wanted is not None:
            bits = [DutyBits(0, 0, np.zeros(len(self.kinds), np.uint64))]
        possible = [self._possible(alive.frame, one) for one in bits]
        calm = 0
        while calm < len(bits) and alive.rows:
            for one, open_ in zip(bits, possible, strict=True):
                left = self._kept(alive, inside, one, open_, wanted)
                if left.rows == alive.rows:
                    calm += 1
                    left.drop()
                else:
                    calm = 0
                    ids = left.frame.select("id")
                    steps = inside.frame.join(ids.withColumnRenamed("id", "source"), "source")
                    steps = steps.join(ids.withColumnRenamed("id", "target"), "target")
                    before, inside = inside, self.tables.keep(steps)
                    before.drop()
                    alive.drop()
                    alive = left
                if calm >= len(bits) or not alive.rows:
                    break
        for open_ in possible:
            open_.drop()
        inside.drop()
        return alive

    def _possible(self, alive: Any, bits: DutyBits) -> StoredFrame:
        """Return for each state the duties that some step out of it fulfils, to any target."""
        steps = self.steps_with(bits.masks).filter("mask != 0")
        found = steps.groupBy(F.col("source").alias("id"))
        found = found.agg(F.expr("bit_or(mask)").alias("open"))
        return self.tables.keep(found.join(alive.select("id"), "id"))

    def _kept(
        self,
        alive: StoredFrame,
        inside: StoredFrame,
        bits: DutyBits,
        possible: StoredFrame,
        wanted: Any,
    ) -> StoredFrame:
        """Return the states of `alive` from which all duties can be fulfilled within `alive`."""
        taken = inside.frame.join(self._masks(bits.masks), ["info", "changes"])
        taken = taken.filter("mask != 0").groupBy(F.col("source").alias("id"))
        taken = taken.agg(F.expr("bit_or(mask)").alias("taken"))
        states = alive.frame.join(possible.frame, "id", "left").join(taken, "id", "left")
        open_, done = F.coalesce("open", F.lit(0)), F.coalesce("taken", F.lit(0))
        # A weak duty is also fulfilled by a state where it is not possible.  A strong duty must be
        # fulfilled only if it is possible.
        mask = F.lit(bits.weak).bitwiseAND(F.bitwise_not(open_)).bitwiseOR(done)
        need = F.lit(bits.weak).bitwiseOR(F.lit(bits.strong).bitwiseAND(open_))
        if wanted is not None:
            mask = mask.bitwiseOR(F.when(wanted, WANTED).otherwise(0))
            need = need.bitwiseOR(F.lit(WANTED))
        states = states.withColumn("mask", mask).withColumn("need", need).drop("open", "taken")
        told = self.spread(states, inside.frame.select("source", "target"))
        enough = F.col("mask").bitwiseAND(F.col("need")) == F.col("need")
        left = self.tables.keep(told.frame.filter(enough).drop("mask", "need", "fresh"))
        told.drop()
        return left

    def leading(self, states: Any, pairs: Any, goal: Any) -> StoredFrame:
        """Return the `states` from which `pairs` lead to a state whose column `goal` is true."""
        told = self.spread(states.withColumn("mask", F.when(goal, 1).otherwise(0)), pairs)
        found = self.tables.keep(told.frame.filter("mask != 0").drop("mask", "fresh"))
        told.drop()
        return found
