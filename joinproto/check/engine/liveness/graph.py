"""Claims about whole runs, on the finished graph: deadlock, possibility, liveness.

Steps are kept as arrays.  Each claim about fair runs is one question: is there a fair run that
comes to a state in which the claim is due, and from there on stays in states that do not meet it?

| claim | due | not met |
|---|---|---|
| eventually f | at the beginning | without f |
| p leads to f | at p without f | without f |
| m until f | at the beginning, or at p | without f (or a state with neither m nor f comes) |
| infinitely often f | anywhere | without f |
| eventually always f | anywhere | anywhere, with a state without f again and again |
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from attrs import define

from joinproto.check.asking import ask, guard
from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.liveness.duties import Duties, duties_of, unmatched_fairness
from joinproto.check.engine.liveness.fair_runs import DutyBits, fair_parts
from joinproto.check.engine.liveness.lassos import due_in
from joinproto.check.engine.liveness.loops import go_back, incoming
from joinproto.check.engine.rows.layout import OCCUPIED
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.runs.paths import move_of, states_text
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Rows, SmallInts
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.lassos import Run, RunQuery, close, shortest_run, shortest_run_ending_with
from joinproto.check.memory import MemoryLimitMet
from joinproto.check.report import Step
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, order_of, step_view, to_step

_BYTES_PER_EDGE = 80

_PIECE = 1 << 16
"""The number of steps whose kinds are numbered at once."""


@define
class BreakingRun:
    """A run that breaks a claim, with its states as text.

    `abstract_note`: for a claim with an abstract world, the text that says which step of
    the abstract world is missing.
    """

    run: Run
    initial: dict[str, dict[str, str]]
    steps: tuple[Step, ...]
    abstract_note: str = ""


class Graph:
    """All states and steps of a finished search.

    If the search ended at a violation, the last level's states have no steps.
    """

    _incoming: tuple[Ints, Ints] | None = None

    def __init__(self, search: Search) -> None:
        self.search = search
        if not search.budget.allows(search.found.generated * _BYTES_PER_EDGE):
            raise MemoryLimitMet
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
        """Return the level of a state, and the first state of the next level."""
        after = bisect_right(self.levels, state)
        return after - 1, self.levels[after]

    def _collect(self) -> None:
        search = self.search
        known = self._known()
        is_cut = search.found.violated and search.stop_at_violation
        levels = search.found.levels[: -1 if is_cut else None]
        steps = (search.successors(begin, end) for begin, end in pairwise(levels))
        self._set_steps(chain.from_iterable(steps), known)

    def _known(self) -> RowSet:
        """Return the states as a set that knows their numbers."""
        states = self.search.states
        if not states.is_direct:
            return states
        found = RowSet(1, self.search.budget, numbered=True, room=states.count)
        found.insert(states.rows, states.count)
        return found

    def _set_steps(self, steps: Iterable[Any], known: RowSet) -> None:
        """Set the steps between `known` states, ordered by the states that they lead out of.

        `source`, `target`: int64 (step,), the states before and after each step.  `first`: int64
        (state + 1,), the first step out of each state.  `kind`: int32 (step,), the number of each
        step's kind.  For each kind, `infos`, int64 (kind,), has its code; `changes` and `faults`,
        bool (kind,), whether it leads to another state, and whether it is a fault.
        """
        columns: list[list[Ints]] = [[np.empty(0, np.int64)] for _ in range(3)]
        for batch in steps:
            target = self._number(known.find(batch.rows, len(batch.rows)))
            for column, part in zip(columns, (batch.source, target, batch.info), strict=True):
                column.append(part.copy())
        source, target, info = map(np.concatenate, columns)
        if (np.diff(source) < 0).any():
            order = np.argsort(source, kind="stable")
            source, target, info = source[order], target[order], info[order]
        self.source, self.target = source, target
        self.first = np.searchsorted(self.source, np.arange(self.count + 1))
        changes = (self.source != self.target).astype(np.uint64)
        keys = (info.astype(np.uint64) << np.uint64(1) | changes | OCCUPIED).reshape(-1, 1)
        kinds = RowSet(1, self.search.budget, numbered=True, room=1)
        self.kind: SmallInts = np.empty(len(info), np.int32)
        for begin in range(0, len(info), _PIECE):
            some = keys[begin : begin + _PIECE]
            self.kind[begin : begin + _PIECE] = kinds.insert(some, len(some))
        every = kinds.rows[: kinds.count, 0] & ~OCCUPIED
        self.infos: Ints = (every >> np.uint64(1)).astype(np.int64)
        self.changes: Flags = (every & np.uint64(1)) != 0
        self.faults: Flags = FaultSteps.of(self.search.tables).of_steps(self.infos)

    def _number(self, found: Ints) -> Ints:
        """Return the numbers of states; `found`: their numbers in the known set, or -1."""
        return found

    @property
    def info(self) -> Ints:
        """The code of each step, as `tables/kernel.py` defines `info`."""
        return self.infos[self.kind]

    def info_of(self, edge: int) -> int:
        """Return the code of this step, as `tables/kernel.py` defines `info`."""
        return int(self.infos[self.kind[edge]])

    @cached_property
    def first_of_kind(self) -> Ints:
        """The first step of each kind."""
        found: Ints = np.empty(len(self.infos), np.int64)
        # Of several values for a place, NumPy keeps the last one.
        found[self.kind[::-1]] = np.arange(len(self.kind))[::-1]
        return found

    def incoming(self) -> tuple[Ints, Ints]:
        """Return where the steps into each state begin, and the steps in this order."""
        if self._incoming is None:
            first, into = np.zeros(self.count + 1, np.int64), np.empty(len(self.target), np.int64)
            incoming(self.target, first, into)
            self._incoming = first, into
        return self._incoming

    # -- claims ------------------------------------------------------------------------

    def _flag(self, bit: int) -> Flags:
        return self.search.judge.have_bit(self.numbers, bit)

    def states_of(self, claim: Claim) -> Flags:
        """Return the states that break an `always`, or that reach a `sometimes`."""
        judge, is_always = self.search.judge, claim.property.kind == "always"
        if claim.property.scope == "world":
            return self._flag(claim.bit) ^ is_always
        rows, found = self.rows(), np.zeros(self.count, np.bool_)
        bad = judge.watch(rows, 0, self.count)
        broken = judge.breaking(claim, rows, bad) if is_always else None
        found[judge.reached(claim, rows, 0, self.count) if broken is None else broken] = True
        return found

    def deadlocks(self, claim: Claim) -> Ints:
        """Return the states without steps (except faults) in which the claim's `done` is false."""
        moving = np.zeros(self.search.states.count, np.bool_)
        moving[self.source[~self.faults[self.kind]]] = True
        return np.flatnonzero(~moving & ~self._flag(claim.bit))

    def impossible(self, claim: Claim) -> Ints:
        """Return the states from which the claim cannot come true without a fault."""
        far = self.distances(self._flag(claim.bit), ~self.faults[self.kind])
        return np.flatnonzero(far < 0)

    # -- fair runs ---------------------------------------------------------------------

    @cached_property
    def duties(self) -> list[Duties]:
        """The duties that fairness demands, by kind of step."""
        return list(duties_of(self.search.tables, self.infos, self.changes))

    def unmatched_fairness(self) -> list[str]:
        """Return texts of fairness demands that no step of the world matches."""
        return unmatched_fairness(self.search.tables, self.infos)

    def fair_run_breaking(self, claim: Claim) -> BreakingRun | None:
        """Return a fair run that breaks a claim, or None."""
        item = claim.property
        without = ~self._flag(claim.bit)
        due = None if claim.premise_bit < 0 else self._flag(claim.premise_bit) & without
        wanted = None
        if item.kind == "until":
            # First look for a run to a state in which neither `meanwhile` nor `holds` is true.
            meanwhile = self._flag(claim.meanwhile_bit)
            allowed = (without & meanwhile)[self.source] & without[self.target]
            run = shortest_run(self, RunQuery(due, allowed, without & ~meanwhile))
            if run is not None:
                return self._breaking(run)
        elif item.kind == "infinitely often":
            due = without
        elif item.kind == "eventually always":
            wanted, due = without, np.ones(self.count, np.bool_)
            without = due
        bits = DutyBits.of(self.duties, len(self.infos))
        part = fair_parts(self.first, self.target, self.kind, bits, without, wanted)
        goal = part >= 0 if wanted is None else (part >= 0) & wanted
        if not goal.any():
            return None
        inside = without[self.source] & without[self.target]
        way = shortest_run(self, RunQuery(due, inside, goal))
        if way is None:
            return None
        here = part == part[way.end(self)]
        within = inside & here[self.source] & here[self.target]
        run = close(self, way, within, due_in(self, here, within, self.duties))
        if claim.premise_bit < 0:
            run.due_at = None
        return self._breaking(run)

    # -- steps -------------------------------------------------------------------------

    def run_to_broken_step(self, claim: Claim) -> BreakingRun | None:
        """Return a shortest run whose last step breaks a claim about steps, or None."""
        asked = claim.asked or StepClaim(claim.property)
        view = self.search.judge.view
        if wrong := self.bad_beginnings(asked):
            broken = self._breaking(Run(wrong[0], []))
            broken.abstract_note = asked.note(None, view(int(self.numbers[wrong[0]])))
            return broken
        steps = self.bad_steps(asked)
        bad, before = np.zeros(len(self.source), np.bool_), np.zeros(self.count, np.bool_)
        bad[steps], before[self.source[steps]] = True, True
        run = shortest_run_ending_with(self, bad, before)
        if run is None:
            return None
        broken = self._breaking(run)
        last = run.edges[-1]
        ends = [view(int(self.numbers[at[last]])) for at in (self.source, self.target)]
        broken.abstract_note = asked.note(*ends)
        return broken

    def bad_beginnings(self, asked: StepClaim) -> list[int]:
        """Return the initial states in which no run of a claim's abstract world begins."""
        view, begins = self.search.judge.view, self.numbers[: self.begins].tolist()
        return [
            row
            for row, number in enumerate(begins)
            if not ask(asked.item, lambda at: asked.begins(view(at)), number)
        ]

    def bad_steps(self, asked: StepClaim) -> Ints:
        """Return the steps that break a claim, asked once for each item of `_shown_steps`."""
        judge, item = self.search.judge, asked.item
        if item.abstract is not None:
            return self._steps_not_allowed(asked)
        first, same = self._shown_steps()
        bad = np.zeros(len(first), np.bool_)
        for at, edge in enumerate(first.tolist()):
            taken = step_view(self.move(edge))
            before = judge.view(int(self.numbers[self.source[edge]]))
            after = judge.view(int(self.numbers[self.target[edge]]))
            bad[at] = not ask(item, asked.holds, before, taken, after)
        return np.flatnonzero(bad[same])

    def _shown_steps(self) -> tuple[Ints, Ints]:
        """Return the first steps of each kind and observations, and each step's index in these."""
        shown = np.empty((len(self.source), 3), np.uint64)
        shown[:, 0] = self.numbers[self.source].astype(np.uint64) | OCCUPIED
        shown[:, 1] = self.numbers[self.target]
        shown[:, 2] = self.kind
        known = RowSet(3, self.search.budget, numbered=True, room=1)
        same: Ints = np.empty(len(shown), np.int64)
        for begin in range(0, len(shown), _PIECE):
            some = shown[begin : begin + _PIECE]
            same[begin : begin + _PIECE] = known.insert(some, len(some))
        first = np.empty(known.count, np.int64)
        first[same[::-1]] = np.arange(len(same))[::-1]
        return first, same

    def _steps_not_allowed(self, asked: StepClaim) -> Ints:
        """Return the steps that the abstract world does not allow between the abstract states."""
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
        return move_of(self.search, self.info_of(edge), self.rows()[int(self.source[edge])])

    def texts_of(self, run: Run) -> tuple[dict[str, dict[str, str]], tuple[Step, ...]]:
        """Return a run's first state as text, and its steps with the states after them."""
        found = self._breaking(run)
        return found.initial, found.steps

    def _breaking(self, run: Run) -> BreakingRun:
        rows = self.rows()
        steps = tuple(
            to_step(self.move(edge), states_text(self.search, rows[int(self.target[edge])]))
            for edge in run.edges
        )
        return BreakingRun(run, states_text(self.search, rows[run.begin]), steps)

    # -- for joinproto/check/lassos.py ---------------------------------------------------------

    def out_of(self, at: int) -> range:
        return range(int(self.first[at]), int(self.first[at + 1]))

    def order(self, edge: int) -> Any:
        return order_of(self.move(edge), self.search.tables.codes)

    def among(self, states: Collection[int]) -> Flags:
        found = np.zeros(self.count, np.bool_)
        found[list(states)] = True
        return found

    def distances(self, goal: Flags, allowed: Flags | None, beyond: Ints | None = None) -> Ints:
        """Return, for each state, how many steps of `allowed` lead to a state of `goal`, or -1.

        `beyond`: for each goal, a number of steps to add; -1 excludes the goal.
        """
        goals = np.flatnonzero(goal if beyond is None else goal & (beyond >= 0))
        begins = np.zeros(len(goals), np.int64)
        if beyond is not None:
            goals = goals[np.argsort(beyond[goals], kind="stable")]
            begins = beyond[goals]
        far = np.full(self.count, -1, np.int64)
        some = np.empty(0, np.bool_) if allowed is None else allowed
        go_back(*self.incoming(), self.source, some, goals, begins, far)
        return far
