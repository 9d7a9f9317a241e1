"""A search in plain Python, for small worlds: it needs less time than loading the engine's loops.

It goes level by level up to the first violation, as the engine does, over the steps of
`joinproto/check/reference.py`; each question to a member's code is put once.  The report is the
same except for the search's costs, and tests compare it on every small world that ships.

The engine takes over if a world exceeds the `Bounds`.  It loads its compiled loops in about a
second.  If they must be compiled first, which takes some 20 seconds, a user's model is searched
here up to larger bounds.  `direct_large.py` takes over if most of the first states are
local states of one member.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, field, frozen

from joinproto.check.asking import ask, ask_of_view, guard
from joinproto.check.exercised import final_report
from joinproto.check.folders import has_loops
from joinproto.check.lassos import Run
from joinproto.check.memory import collected_seldom, peak_bytes, resident_bytes
from joinproto.check.plain_coverage import coverage_of
from joinproto.check.plain_runs import Edge, Runs, choices_before, label_of
from joinproto.check.plain_steps import Steps
from joinproto.check.properties import ON_FAIR_RUNS, ON_RUNS, Property
from joinproto.check.reference import Failing, Led, State, raise_failing, way_to
from joinproto.check.report import Coverage, PropertyResult, Report, Result, Trace
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, to_step
from joinproto.check.view import View
from joinproto.check.world import World


@frozen
class Bounds:
    """Limits of a search in plain Python; the engine searches larger worlds.

    `states`, `steps`: how many were found.  `calls`: calls of members' code.  `tries`: events
    offered to members, also events that they did not take.  `bytes`: memory that the search adds to
    the process; the engine needs less for large values.
    """

    states: int
    steps: int
    calls: int
    tries: int
    bytes: int = 512 << 20


SHIPPED = Bounds(1_000, 20_000, 2_600, 200_000)
"""Bounds for worlds that ship: some tenths of a second, a little less than loading the engine."""

USER_BOUNDS = Bounds(40_000, 200_000, 40_000, 300_000)
"""Bounds for a user's model if the loops are not compiled yet: about three seconds and 150 MB."""

USER_BOUNDS_COMPILED = Bounds(20_000, 100_000, 20_000, 150_000)
"""Bounds for a user's model if the loops are compiled: half a second, as loading them takes."""


LOOKS_AFTER = 4_000
"""After this many states, some tenths of a second, another search may take over."""


def own_bounds() -> Bounds:
    """Return the bounds for a user's model on this machine."""
    return USER_BOUNDS_COMPILED if has_loops() else USER_BOUNDS


@frozen(kw_only=True)
class Ends:
    """Limits of a search, as `joinproto.check.check.check` takes them."""

    states_max: int | None = None
    seconds_max: float | None = None
    interrupted: Callable[[], bool] = lambda: False


POSSIBLE = ("no deadlock", "always possible")
"""Kinds of `ON_RUNS` claims that a single state can break."""


class NeedsOtherSearch(Exception):
    """This search cannot take the world, so another search must, such as the engine's."""


def check_small(
    world: World,
    *,
    witnesses: bool = False,
    ends: Ends | None = None,
    bounds: Bounds = SHIPPED,
) -> Report | None:
    """Return the report of a small world; None if the engine must search it.

    `ends`: limits, and Ctrl-C.  Raises `ModelProblem` for a model that cannot be explored.
    """
    if world.same is not None:
        return None
    found = searched(world, witnesses, ends or Ends(), bounds)
    return found if isinstance(found, Report) else None


def searched(
    world: World,
    witnesses: bool,
    ends: Ends,
    bounds: Bounds,
    leaves: Callable[[PlainSearch], bool] = lambda small: False,
) -> Report | PlainSearch:
    """Return the report of a world without `same`; the search, if it met a bound.

    `leaves`: asked once, after `LOOKS_AFTER` states; if it is true, the search ends there.
    """
    began, cpu = time.perf_counter(), time.process_time()
    with collected_seldom():
        small = PlainSearch(Steps(world), ends, bounds, leaves=leaves)
        try:
            small.run(began)
        except NeedsOtherSearch:
            return small
        small.steps.codes.ask_again()
        return small.report(witnesses, began, cpu)


def search_plainly(
    world: World, claims: Sequence[Property], *, states_max: int
) -> PlainSearch | None:
    """Return a search up to the first violation of `claims`; None if there are too many states."""
    many = 1 << 62
    bounds = Bounds(states_max + 1, many, many, many, many)
    small = PlainSearch(Steps(world), Ends(), bounds, claims)
    try:
        small.run(time.perf_counter())
    except NeedsOtherSearch:
        return None
    return small


@define
class PlainSearch:
    """A search in plain Python.  `out_of`: the steps out of each state that was expanded.

    `hits`: claim to (level, states) that break it, or that reach it for a `sometimes`.  `traces`:
    claim to the run that breaks it.  `mapped`: the `implements` claims.  `bytes_before`: memory of
    the process before the search.  `leaves`: see `searched`;
    `has_left`: whether it did.
    """

    steps: Steps
    ends: Ends
    bounds: Bounds
    claims: Sequence[Property] = Factory(lambda self: self.steps.world.properties, takes_self=True)
    levels: list[list[State]] = Factory(list)
    out_of: dict[State, list[tuple[Move, State]]] = Factory(dict)
    hits: dict[str, tuple[int, list[State]]] = Factory(dict)
    traces: dict[str, Trace] = Factory(dict)
    mapped: dict[str, StepClaim] = Factory(dict)
    notes: tuple[str, ...] = ()
    premises: set[str] = Factory(set)
    generated: int = 1
    beyond: int = 0
    stopped_by: str = ""
    violated: bool = False
    unmapped: bool = False
    idle: tuple[str, ...] = ()
    leaves: Callable[[PlainSearch], bool] = field(default=lambda small: False, kw_only=True)
    bytes_before: int = Factory(resident_bytes)
    has_left: bool = False
    _has_looked: bool = False
    _seen: set[State] = Factory(set)
    _answers: dict[tuple[str, Any, Any], bool] = Factory(dict)

    def run(self, began: float) -> None:
        """Explore level by level, to the end or to the first level with a violation.

        `began`: when the search began, by `time.perf_counter`.
        """
        level = self.steps.initials(lambda: self._ends_now(began))
        self.generated = len(level)
        self._seen.update(level)
        implementing = [item for item in self.claims if item.abstract is not None]
        self.mapped = {item.name: StepClaim(item) for item in implementing}
        while level:
            self.add(level)
            if self.violated or self._ends_here(len(self._seen)):
                break
            level = self.next_level(began)
            self._look()
        if not self.stopped_by and (self.unmapped or not self.violated):
            on_runs = [item for item in self.claims if item.kind in ON_RUNS]
            self._judge_runs(implementing if self.unmapped else on_runs)

    def _look(self) -> None:
        """Raise `NeedsOtherSearch` if the states found so far are reason to leave, asked once."""
        if not self._has_looked and len(self._seen) >= LOOKS_AFTER and not self.stopped_by:
            self._has_looked = True
            self.has_left = self.leaves(self)
            if self.has_left:
                raise NeedsOtherSearch

    def add(self, level: list[State]) -> None:
        """Add a level, and judge its states."""
        self.levels.append(level)
        self._judge(level)

    def _ends_here(self, count: int) -> bool:
        most = self.ends.states_max
        if most is not None and count >= most:
            self.stopped_by = f"the limit of {most:,} states"
        return bool(self.stopped_by)

    def _ends_now(self, began: float) -> bool:
        seconds = self.ends.seconds_max
        if self.ends.interrupted():
            self.stopped_by = "interrupted"
        elif seconds is not None and time.perf_counter() - began > seconds:
            self.stopped_by = f"the limit of {seconds:g} seconds"
        return bool(self.stopped_by)

    def next_level(self, began: float) -> list[State]:
        """Return the level after the last one; empty if a limit ends the search."""
        found, bounds = [], self.bounds
        failing: Failing = {}
        bytes_max = self.bytes_before + bounds.bytes
        for state in self.levels[-1]:
            self.out_of[state] = []
            if self.steps.is_beyond(state):
                self.beyond += 1
                continue
            self.steps.failing = []
            self.out_of[state] = self._out_of(state)
            if self.steps.failing:
                failing[state] = self.steps.failing
            self.generated += len(self.out_of[state])
            for _, after in self.out_of[state]:
                if after not in self._seen:
                    self._seen.add(after)
                    found.append(after)
            if (
                len(self._seen) >= bounds.states
                or self.generated > bounds.steps
                or self.steps.codes.calls > bounds.calls
                or self.steps.tries > bounds.tries
                or (len(self.out_of) % 256 == 0 and resident_bytes() > bytes_max)
            ):
                raise NeedsOtherSearch
            if self._ends_now(began):
                return []
        self.steps.failing = None
        if failing:
            raise_failing(failing, self._way_to(len(self.levels) - 1, [*failing]))
        return found

    def _out_of(self, state: State) -> list[tuple[Move, State]]:
        found: list[tuple[Move, State]] = guard(
            "a step", lambda: list(self.steps.successors(state))
        )
        return found

    # -- claims --------------------------------------------------------------------------

    def _judge(self, level: list[State]) -> None:
        for item in self.claims:
            if item.premise is not None and item.name not in self.premises:
                premise = item.premise
                if any(self._answer(item, premise, state) for state in level):
                    self.premises.add(item.name)
            if item.name in self.hits or item.kind in ON_RUNS:
                continue
            wanted = item.kind == "sometimes"
            found = [state for state in level if self.holds(item, state) is wanted]
            if found:
                self.hits[item.name] = len(self.levels) - 1, found
                self.violated |= not wanted
        for name, asked in self.mapped.items():
            views = {self.steps.shown(state): self.steps.view(state) for state in level}.values()
            if not all(
                guard(f"property {name!r}", partial(asked.is_state, view)) for view in views
            ):
                self.unmapped = self.violated = True

    def _judge_possible(self, item: Property) -> None:
        """Judge a claim that a single state may break, once all states and steps are known."""
        done = {state for state in self._seen if self.holds(item, state)}
        onward = {
            state: [after for move, after in steps if not move.is_fault]
            for state, steps in self.out_of.items()
        }
        if item.kind == "no deadlock":
            done |= {state for state, after in onward.items() if after}
        else:
            more = done
            while more:
                more = {s for s, after in onward.items() if s not in done and more & {*after}}
                done |= more
        for depth, level in enumerate(self.levels):
            bad = [state for state in level if state not in done]
            if bad:
                self.hits[item.name] = depth, bad
                return

    def _judge_runs(self, claims: list[Property]) -> None:
        """Judge claims about whole runs, on all states and the steps out of each."""
        for item in claims:
            if item.kind in POSSIBLE:
                self._judge_possible(item)
        claims = [item for item in claims if item.kind not in POSSIBLE]
        if not claims:
            return
        states, runs = list(self.states()), self._runs()
        fair = [item for item in claims if item.kind in ON_FAIR_RUNS]
        if fair:
            self.idle = tuple(runs.with_duties().idle)
        for item in claims:
            if item in fair:
                run = runs.fair_run_breaking(
                    item,
                    [self.holds(item, state) for state in states],
                    item.premise and [self._answer(item, item.premise, one) for one in states],
                    item.meanwhile and [self._answer(item, item.meanwhile, one) for one in states],
                )
            else:
                run = self._broken_step(item, runs, states)
            if run is not None:
                self.traces[item.name] = self._trace_of(item, run, runs, states)

    def _runs(self) -> Runs:
        """Return all steps, with states as numbers."""
        states, codes = list(self.states()), self.steps.codes
        number = {state: at for at, state in enumerate(states)}
        edges = []
        for state, steps in self.out_of.items():
            for move, after in steps:
                place = choices_before(move, codes, state.locals)
                label = label_of(move, place)
                edges.append(Edge(number[state], number[after], move, label, place or 0))
        depths = [depth for depth, level in enumerate(self.levels) for _ in level]
        return Runs(codes, depths, edges)

    def _broken_step(self, item: Property, runs: Runs, states: list[State]) -> Run | None:
        asked = self.mapped.get(item.name) or StepClaim(item)
        run = runs.run_to_broken_step(asked, lambda at: self.steps.view(states[at]))
        if run is not None:
            ends = [run.begin, *(runs.target[edge] for edge in run.edges)][-2:]
            views = [self.steps.view(states[at]) for at in ends]
            note = asked.note(views[0] if run.edges else None, views[-1])
            self.notes += (note,) if note else ()
        return run

    def _trace_of(self, item: Property, run: Run, runs: Runs, states: list[State]) -> Trace:
        text = self.steps.states_text
        steps = tuple(
            to_step(runs.edges[edge].move, text(states[runs.target[edge]])) for edge in run.edges
        )
        lasso = run.loop_at, run.fairness, run.due_at
        return Trace(item.name, item.kind, text(states[run.begin]), steps, *lasso)

    def holds(self, item: Property, state: State) -> bool:
        """Return the claim's answer, evaluated once for states with equal observations."""
        return self._answer(item, None, state)

    def _answer(self, item: Property, part: Callable[[View], Any] | None, state: State) -> bool:
        """Return the answer of a part of a claim (None: of the claim), as `holds` does."""
        key = item.name, part, self.steps.shown(state)
        if key not in self._answers:
            view = self.steps.view(state)
            self._answers[key] = ask_of_view(item, view) if part is None else ask(item, part, view)
        return self._answers[key]

    # -- the report ----------------------------------------------------------------------

    def report(self, witnesses: bool, began: float, cpu: float) -> Report:
        world = self.steps.world
        return final_report(
            world,
            [self._result(item, witnesses) for item in world.properties],
            self._coverage(),
            idle=self.idle,
            levels=tuple(map(len, self.levels)),
            distinct=sum(map(len, self.levels)),
            generated=self.generated,
            seconds=time.perf_counter() - began,
            cpu_seconds=time.process_time() - cpu,
            peak_rss_bytes=peak_bytes(),
            calls=self.steps.codes.calls,
            engine="local",
            method="plain",
            reductions=("messages of no use are dropped",) if world.expiry else (),
            beyond=self.beyond,
            stopped_by=self.stopped_by,
            notes=self.notes,
        )

    def _coverage(self) -> Coverage:
        """Return the coverage; `Direct` overrides this."""
        is_stopped = bool(self.stopped_by)
        return coverage_of(self.steps, self.levels, self.out_of, is_stopped=is_stopped)

    def _result(self, item: Property, witnesses: bool) -> PropertyResult:
        level, trace = None, self.traces.get(item.name)
        fails = item.kind != "sometimes"
        result: Result = "holds" if fails else "not-reached"
        if item.name in self.hits:
            level, states = self.hits[item.name]
            result = "violated" if fails else "reached"
            if fails or witnesses:
                trace = Trace(item.name, item.kind, *self._way_to(level, states)[:2])
        elif trace is not None:
            level, result = len(trace.steps), "violated"
        elif self.violated or self.stopped_by or (not fails and self.beyond):
            result = "unknown"
        met = None if item.premise is None else item.name in self.premises
        return PropertyResult(item.name, item.kind, result, level, met, trace, item.meaning)

    def _way_to(self, depth: int, targets: list[State]) -> Led:
        """Return the shortest run to a state of `targets`, as `way_to` chooses it."""
        return way_to(self.steps, self.levels, depth, targets, self.out_of.__getitem__)

    def reached(self) -> set[State]:
        """Return all states that were found, also those of a level that is not complete."""
        return self._seen

    def states(self) -> Iterable[State]:
        """Return all states, in the order in which they were found."""
        return (state for level in self.levels for state in level)
