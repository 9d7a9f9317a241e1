"""Claims about whole runs, on the finished graph: deadlock, possibility, liveness.

Steps are kept as arrays.  Each claim about fair runs is one question: is there a run that comes
to a state in which the claim is due, and stays from there on where it is not met?

| claim | due | not met |
|---|---|---|
| eventually f | at the outset | without f |
| p leads to f | at p without f | without f |
| m until f | at the outset, or at p | without f (or it ends at neither m nor f) |
| infinitely often f | anywhere | without f |
| eventually always f | anywhere | anywhere, with a state without f again and again |
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define

from joinproto.check.asking import ask, guard
from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.liveness.duties import Duties, Faults, duties_of, unheard
from joinproto.check.engine.liveness.fair_runs import Family, fair_parts
from joinproto.check.engine.liveness.lassos import distances, due_in
from joinproto.check.engine.runs.paths import move_of, states_text
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Rows
from joinproto.check.lassos import Hunt, Run, close, least_of, shortest_way
from joinproto.check.memory import TooMany
from joinproto.check.report import Step
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, order_of, taken_of, to_step

_BYTES_PER_EDGE = 80


@define
class Told:
    """A run that breaks a claim, with its states as text.

    `abstractly`: what the abstract world would have had to do, of a claim that has one.
    """

    run: Run
    initial: dict[str, dict[str, str]]
    steps: tuple[Step, ...]
    abstractly: str = ""


class Graph:
    """All states and steps of a finished search; of one that ended at a level, the steps to it."""

    _duties: list[Duties] | None = None

    def __init__(self, search: Search) -> None:
        self.search = search
        if not search.budget.allows(search.found.generated * _BYTES_PER_EDGE):
            raise TooMany
        self.begins, self.count = search.begins, search.states.count
        self._collect()
        self.numbers = search.judge.number(search.rows(), 0, self.count)

    def rows(self) -> Rows:
        """Return the states' rows."""
        return self.search.rows()

    @property
    def levels(self) -> Sequence[int]:
        """The first state of each level, and one past the last."""
        return self.search.found.levels

    def level_of(self, state: int) -> tuple[int, int]:
        """Return the level of a state, and the first state that is further on."""
        after = bisect_right(self.levels, state)
        return after - 1, self.levels[after]

    def _collect(self) -> None:
        search = self.search
        self._index()
        sources, targets, infos = [], [], []
        is_cut = search.found.violated and search.stop_at_violation
        levels = search.found.levels[: -1 if is_cut else None]
        for begin, end in pairwise(levels):
            for batch in search.successors(begin, end):
                sources.append(batch.source.copy())
                targets.append(self._find(batch.rows))
                infos.append(batch.info.copy())
        nothing = [np.empty(0, np.int64)]
        self._ordered(*(np.concatenate(one or nothing) for one in (sources, targets, infos)))

    def _ordered(self, source: Ints, target: Ints, info: Ints) -> None:
        """Take in all steps, by the states that they lead out of."""
        order = np.argsort(source, kind="stable")
        self.source, self.target, self.info = source[order], target[order], info[order]
        self.fault = Faults.of(self.search.tables).of_steps(self.info)
        self.first = np.searchsorted(self.source, np.arange(self.count + 1))

    def _index(self) -> None:
        states = self.search.states
        if states.words == 1:
            keys = states.rows[: states.count, 0]
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]

    def _find(self, rows: Rows) -> Ints:
        states = self.search.states
        if states.words > 1:
            return states.find(rows, len(rows))
        found: Ints = self._order[np.searchsorted(self._keys, rows[:, 0])]
        return found

    # -- claims ------------------------------------------------------------------------

    def _flag(self, bit: int) -> Flags:
        flags = self.search.judge.flags[self.numbers]
        found: Flags = ((flags >> np.uint64(bit)) & np.uint64(1)) != 0
        return found

    def states_of(self, claim: Claim) -> Flags:
        """Return which states break an `always`, or are what a `sometimes` waits for."""
        judge, is_always = self.search.judge, claim.property.kind == "always"
        if claim.property.scope == "world":
            return self._flag(claim.bit) ^ is_always
        rows, found = self.rows(), np.zeros(self.count, np.bool_)
        bad = judge.watch(rows, 0, self.count)
        broken = judge.breaking(claim, rows, bad) if is_always else None
        found[judge.reached(claim, rows, 0, self.count) if broken is None else broken] = True
        return found

    def deadlocks(self, claim: Claim) -> Ints:
        """Return states without any step but faults in which the claim's `done` is false."""
        moving = np.zeros(self.search.states.count, np.bool_)
        moving[self.source[~self.fault]] = True
        return np.flatnonzero(~moving & ~self._flag(claim.bit))

    def impossible(self, claim: Claim) -> Ints:
        """Return states from which no steps but faults lead to one where the claim holds."""
        able = self._flag(claim.bit)
        source, target = self.source[~self.fault], self.target[~self.fault]
        while True:
            more = able[target] & ~able[source]
            if not more.any():
                return np.flatnonzero(~able)
            able[source[more]] = True

    # -- fair runs ---------------------------------------------------------------------

    @property
    def duties(self) -> list[Duties]:
        if self._duties is None:
            changes = self.source != self.target
            self._duties = list(duties_of(self.search.tables, self.info, changes))
        return self._duties

    def unheard(self) -> list[str]:
        """Return what the world is to be fair to and no step of it is, in words."""
        return unheard(self.search.tables, self.info)

    def broken_by(self, claim: Claim) -> Told | None:
        """Return a fair run that breaks a claim, or None."""
        item = claim.property
        without = ~self._flag(claim.bit)
        due = None if claim.premise_bit < 0 else self._flag(claim.premise_bit) & without
        wanted = None
        if item.kind == "until":
            # A run to a state in which neither `meanwhile` nor `holds` is true any more.
            meanwhile = self._flag(claim.meanwhile_bit)
            allowed = (without & meanwhile)[self.source] & without[self.target]
            run = shortest_way(self, Hunt(due, allowed, without & ~meanwhile))
            if run is not None:
                return self._told(run)
        elif item.kind == "infinitely often":
            due = without
        elif item.kind == "eventually always":
            wanted, due = without, np.ones(self.count, np.bool_)
            without = due
        inside = without[self.source] & without[self.target]
        families = [Family.of(duties) for duties in self.duties]
        part = fair_parts(self.source, self.target, families, without, wanted)
        goal = part >= 0 if wanted is None else (part >= 0) & wanted
        way = shortest_way(self, Hunt(due, inside, goal))
        if way is None:
            return None
        entry = way.end(self)
        within = inside & (part[self.source] == part[entry]) & (part[self.target] == part[entry])
        run = close(self, way, within, *due_in(self, entry, within, self.duties))
        if claim.premise_bit < 0:
            run.due_at = None
        return self._told(run)

    # -- steps -------------------------------------------------------------------------

    def broken_step(self, claim: Claim) -> Told | None:
        """Return the least of the shortest runs whose last step breaks a claim about steps."""
        asked = claim.asked or StepClaim(claim.property)
        view, item = self.search.judge.view, claim.property
        begins = self.numbers[: self.begins]
        wrong = [
            row
            for row, number in enumerate(begins.tolist())
            if not ask(item, lambda at: asked.begins(view(at)), number)
        ]
        if wrong:
            told = self._told(Run(wrong[0], []))
            told.abstractly = asked.told(None, view(int(self.numbers[wrong[0]])))
            return told
        steps = self.bad_steps(asked)
        bad, before = np.zeros(len(self.source), np.bool_), np.zeros(self.count, np.bool_)
        bad[steps], before[self.source[steps]] = True, True
        run = least_of(self, bad, before)
        if run is None:
            return None
        told = self._told(run)
        last = run.edges[-1]
        ends = [view(int(self.numbers[at[last]])) for at in (self.source, self.target)]
        told.abstractly = asked.told(*ends)
        return told

    def bad_steps(self, asked: StepClaim) -> Ints:
        """Return the steps that break a claim, each kind between two combinations asked once."""
        judge, item = self.search.judge, asked.item
        if item.abstract is not None:
            return self._bad_to(asked)
        _, kind = np.unique(self.info, return_inverse=True)
        triples = np.stack([self.numbers[self.source], kind, self.numbers[self.target]])
        _, first, same = np.unique(triples, axis=1, return_index=True, return_inverse=True)
        bad = np.zeros(len(first), np.bool_)
        for at, edge in enumerate(first.tolist()):
            taken = taken_of(self.move(edge))
            before = judge.view(int(self.numbers[self.source[edge]]))
            after = judge.view(int(self.numbers[self.target[edge]]))
            bad[at] = not ask(item, asked.holds, before, taken, after)
        return np.flatnonzero(bad[same.reshape(-1)])

    def _bad_to(self, asked: StepClaim) -> Ints:
        """Return the steps that an abstract world does not allow: by pairs of its states."""
        judge, item = self.search.judge, asked.item
        states: dict[Any, int] = {}
        known = int(self.numbers.max()) + 1
        stands_for = np.zeros(known, np.int64)
        for number in np.unique(self.numbers).tolist():
            view = judge.view(number)
            key = guard(f"property {item.name!r}", partial(asked.abstract_of, view))
            stands_for[number] = states.setdefault(key, len(states))
        of = list(states)
        one = stands_for[self.numbers[self.source]]
        other = stands_for[self.numbers[self.target]]
        pairs, same = np.unique(one * len(of) + other, return_inverse=True)
        bad = [not asked.allows(*(of[i] for i in divmod(pair, len(of)))) for pair in pairs.tolist()]
        return np.flatnonzero(np.array(bad, np.bool_)[same.reshape(-1)])

    def move(self, edge: int) -> Move:
        """Return a step as a value."""
        return move_of(self.search, int(self.info[edge]), self.rows()[int(self.source[edge])])

    def told(self, run: Run) -> tuple[dict[str, dict[str, str]], tuple[Step, ...]]:
        """Return a run's first state as text, and its steps with theirs."""
        told = self._told(run)
        return told.initial, told.steps

    def _told(self, run: Run) -> Told:
        rows = self.rows()
        steps = tuple(
            to_step(self.move(edge), states_text(self.search, rows[int(self.target[edge])]))
            for edge in run.edges
        )
        return Told(run, states_text(self.search, rows[run.begin]), steps)

    # -- what joinproto/check/lassos.py asks ----------------------------------------------------

    def out_of(self, at: int) -> range:
        return range(int(self.first[at]), int(self.first[at + 1]))

    def order(self, edge: int) -> Any:
        return order_of(self.move(edge), self.search.tables.codes)

    def among(self, states: Collection[int]) -> Flags:
        found = np.zeros(self.count, np.bool_)
        found[list(states)] = True
        return found

    def distances(self, goal: Flags, allowed: Flags | None, beyond: Ints | None = None) -> Ints:
        return distances(self, goal, allowed, beyond)
