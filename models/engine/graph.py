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

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define

from models.asking import ask, guard
from models.engine.duties import Duties, duties_of, unheard
from models.engine.fair_runs import Family, fair_parts
from models.engine.faults import Faults
from models.engine.judge import Claim
from models.engine.lassos import Hunt, Way, fair_circle, shortest_way
from models.engine.paths import move_of, states_text
from models.engine.search import Search
from models.memory import TooMany
from models.report import Step
from models.step_claims import StepClaim
from models.steps import Move, order_of, taken_of, to_step

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BYTES_PER_EDGE = 80


@define
class Run:
    """A run that breaks a claim: initial states, steps, where its cycle begins, and why.

    `due_at`: the step after which the claim's premise is true, if it has one.
    `abstractly`: what the abstract world would have had to do, of a claim that has one.
    """

    initial: dict[str, dict[str, str]]
    steps: tuple[Step, ...]
    loop_at: int | None = None
    fairness: str = ""
    due_at: int | None = None
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

    def rows(self) -> npt.NDArray[np.uint64]:
        """Return the states' rows."""
        return self.search.rows()

    def _collect(self) -> None:
        search = self.search
        self._index()
        sources, targets, infos = [], [], []
        levels = search.found.levels[: -1 if search.found.violated else None]
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

    def _find(self, rows: npt.NDArray[np.uint64]) -> Ints:
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

    def broken_by(self, claim: Claim) -> Run | None:
        """Return a fair run that breaks a claim, or None."""
        item = claim.property
        without = ~self._flag(claim.bit)
        due = None if claim.premise_bit < 0 else self._flag(claim.premise_bit) & without
        wanted = None
        if item.kind == "until":
            run = self._given_up(claim, without, due)
            if run is not None:
                return run
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
        entry = int(self.target[way.edges[-1]]) if way.edges else way.begin
        within = inside & (part[self.source] == part[entry]) & (part[self.target] == part[entry])
        cycle, reasons = fair_circle(self, entry, within, self.duties)
        has_premise = claim.premise_bit >= 0
        return self._told(way, cycle, "; ".join(reasons), lasso=True, has_premise=has_premise)

    def _given_up(self, claim: Claim, without: Flags, due: Flags | None) -> Run | None:
        """Return a run to a state in which neither `meanwhile` nor `holds` is true any more."""
        meanwhile = self._flag(claim.meanwhile_bit)
        allowed = (without & meanwhile)[self.source] & without[self.target]
        way = shortest_way(self, Hunt(due, allowed, without & ~meanwhile))
        if way is None:
            return None
        return self._told(way, [], "", lasso=False, has_premise=due is not None)

    # -- steps -------------------------------------------------------------------------

    def broken_step(self, claim: Claim) -> Run | None:
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
            run = self._told(Way(wrong[0], [], None), [], "", lasso=False, has_premise=False)
            run.abstractly = asked.told(None, view(int(self.numbers[wrong[0]])))
            return run
        bad = self._bad_steps(asked)
        source = np.zeros(self.count, np.bool_)
        source[self.source[bad]] = True
        way = shortest_way(self, Hunt(None, np.ones(len(self.source), np.bool_), source))
        if way is None:
            return None
        at = int(self.target[way.edges[-1]]) if way.edges else way.begin
        codes = self.search.tables.codes
        last = min(
            bad[self.source[bad] == at].tolist(),
            key=lambda edge: (order_of(self.move(edge), codes), edge),
        )
        run = self._told(way, [last], "", lasso=False, has_premise=False)
        before, after = self.source[last], self.target[last]
        run.abstractly = asked.told(view(int(self.numbers[before])), view(int(self.numbers[after])))
        return run

    def _bad_steps(self, asked: StepClaim) -> Ints:
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

    def _told(
        self, way: Way, cycle: list[int], fairness: str, *, lasso: bool, has_premise: bool
    ) -> Run:
        rows = self.rows()
        steps = []
        for edge in way.edges + cycle:
            after = states_text(self.search, rows[int(self.target[edge])])
            steps.append(to_step(self.move(edge), after))
        return Run(
            states_text(self.search, rows[way.begin]),
            tuple(steps),
            len(way.edges) if lasso else None,
            fairness,
            way.due_at if has_premise else None,
        )
