"""A small world that ships, in plain Python: done before the engine's compiled loops are loaded.

The search is the engine's, level by level up to the first violation, over the steps of
`joinproto/check/reference.py`; each question to a member's code is put once.  What a report says is
the same but for what the search cost, and tests compare it on every small world that ships.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve

from joinproto.check.asking import ask, guard
from joinproto.check.exercised import exercised
from joinproto.check.freeze import is_fixed, thaw
from joinproto.check.known import Known
from joinproto.check.lassos import Run
from joinproto.check.memory import collected_seldom, peak_bytes
from joinproto.check.plain_runs import Edge, Runs, label_of, place_of
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import ON_FAIR_RUNS, ON_RUNS, Property
from joinproto.check.reference import Reference, State
from joinproto.check.report import Coverage, PropertyResult, Report, Result, Step, Trace
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, Sent, order_of, to_step, words
from joinproto.check.view import View
from joinproto.check.world import Together, World

if TYPE_CHECKING:
    from joinproto.check.answers import Answers
    from joinproto.check.local import LocalState, Outcome
    from joinproto.check.member import MemberCode

STATES_MAX = 1_000
STEPS_MAX = 20_000
CALLS_MAX = 2_600
"""Whatever has more is for the engine, and was looked at for a few tenths of a second."""

POSSIBLE = ("no deadlock", "always possible")
"""Claims about whole runs that a state breaks, whatever leads there."""


class _ForTheEngine(Exception):
    """The world is no small one."""


def check_small(
    world: World,
    *,
    witnesses: bool = False,
    interrupted: Callable[[], bool] | None = None,
    answers: Answers | None = None,
) -> Report | None:
    """Return the report of a small world; None where the engine shall search it.

    That is so of a model that goes wrong, too: the engine says what is wrong with it.
    `answers`: what members are known to answer.
    """
    if (world.within, world.same, world.picture) != (None, None, None):
        return None
    began, cpu = time.perf_counter(), time.process_time()
    try:
        with collected_seldom():
            small = _Small(_Steps(world, answers), interrupted or (lambda: False), answers)
            small.run()
            small.steps.codes.ask_again()
            if answers is not None:
                answers.keep(is_whole=True)
            return small.report(witnesses, began, cpu)
    except _ForTheEngine:
        return None
    except ModelProblem as problem:
        if "has not come back" in problem.message:
            raise
        return None


class _Steps(Reference):
    """The steps of a world; nobody is asked a question twice.

    `asked`: by member, questions of the search and outcomes, whoever answered.
    """

    def __init__(self, world: World, answers: Answers | None) -> None:
        super().__init__(world)
        self.asked: dict[MemberCode, dict[Any, tuple[Outcome, ...]]] = {}
        every = (*self.codes.members, *([self.codes.monitor] if self.codes.monitor else ()))
        for code in every:
            code.known, self.asked[code] = Known(), {}
        if answers is not None:
            answers.give(self.codes)
        self._keys: dict[State, Any] = {}
        self._views: dict[Any, View] = {}
        self._joint: dict[Any, list[Together]] = {}
        self._kept: dict[Any, frozenset[Sent]] = {}
        self.stamps = cache(self.stamps)  # type: ignore[method-assign]
        self.text_of = cache(self.text_of)  # type: ignore[method-assign]

    def _ask(self, code: MemberCode, local: LocalState, event: Hashable) -> tuple[Outcome, ...]:
        found = self.asked[code][local, event] = super()._ask(code, local, event)
        return found

    def shown(self, state: State) -> Any:
        """Return what claims see of a state."""
        if state not in self._keys:
            self._keys[state] = self._shown_in(state)
        return self._keys[state]

    def _shown_in(self, state: State) -> Any:
        codes, disks = self.codes, self.world.show_disk is not None
        members = zip(codes.members, state.locals, strict=True)
        monitor = codes.monitor and codes.monitor.shows(state.monitor)  # type: ignore[arg-type]
        return (
            tuple((code.shows(at), code.shows_disk(at) if disks else None) for code, at in members),
            monitor,
            state.around.split,
            state.links if self.world.show_links else None,
        )

    def view(self, state: State) -> View:
        """Return the view of a state: the same one again if nothing in it can change."""
        shown = self.shown(state)
        found = self._views.get(shown)
        if found is None:
            found = super().view(state)
            if is_fixed(shown):
                self._views[shown] = found
        return found

    def _expired(self, state: State) -> State:
        if self.world.expiry is None:
            return state
        key = state.locals, state.messages
        if key not in self._kept:
            self._kept[key] = super()._expired(state).messages
        kept = self._kept[key]
        return state if kept == state.messages else evolve(state, messages=kept)

    def joint_steps(self, state: State) -> Iterable[Together]:
        shown = self.shown(state)
        if shown not in self._joint:
            self._joint[shown] = list(super().joint_steps(state))
        return self._joint[shown]


@define
class _Small:
    """`out_of`: the steps out of each state that was expanded.  `hits`: claim to level, states.

    `traces`: claim to the run that breaks it.  `mapped`: claims that implement another world.
    """

    steps: _Steps
    interrupted: Callable[[], bool]
    kept: Answers | None
    levels: list[list[State]] = Factory(list)
    out_of: dict[State, list[tuple[Move, State]]] = Factory(dict)
    hits: dict[str, tuple[int, list[State]]] = Factory(dict)
    traces: dict[str, Trace] = Factory(dict)
    mapped: dict[str, StepClaim] = Factory(dict)
    notes: tuple[str, ...] = ()
    premises: set[str] = Factory(set)
    generated: int = 1
    violated: bool = False
    unmapped: bool = False
    idle: tuple[str, ...] = ()
    _seen: set[State] = Factory(set)
    _answers: dict[tuple[str, Any], bool] = Factory(dict)

    def run(self) -> None:
        """Explore level by level, to the end or to the first level with a violation."""
        level = self.steps.initials()
        self.generated = len(level)
        self._seen.update(level)
        implementing = [item for item in self._claims if item.abstract is not None]
        self.mapped = {item.name: StepClaim(item) for item in implementing}
        while level:
            self.levels.append(level)
            self._judge(level)
            if self.violated:
                break
            level = self._next(level)
        if self.unmapped or not self.violated:
            on_runs = [item for item in self._claims if item.kind in ON_RUNS]
            self._judge_runs(implementing if self.unmapped else on_runs)

    @property
    def _claims(self) -> Sequence[Property]:
        return self.steps.world.properties

    def _next(self, level: list[State]) -> list[State]:
        found = []
        for state in level:
            self.out_of[state] = self._out_of(state)
            self.generated += len(self.out_of[state])
            for _, after in self.out_of[state]:
                if after not in self._seen:
                    self._seen.add(after)
                    found.append(after)
            if (
                len(self._seen) >= STATES_MAX
                or self.generated > STEPS_MAX
                or self.steps.codes.calls > CALLS_MAX
                or self.interrupted()
            ):
                raise _ForTheEngine
        return found

    def _out_of(self, state: State) -> list[tuple[Move, State]]:
        found: list[tuple[Move, State]] = guard(
            "a step", lambda: list(self.steps.successors(state))
        )
        return found

    # -- claims --------------------------------------------------------------------------

    def _judge(self, level: list[State]) -> None:
        depth = len(self.levels) - 1
        for item in self._claims:
            if item.premise is not None and item.name not in self.premises:
                premise = item.premise
                if any(ask(item, premise, self.steps.view(state)) for state in level):
                    self.premises.add(item.name)
            if item.name in self.hits or item.kind in ON_RUNS:
                continue
            wanted = item.kind == "sometimes"
            found = [state for state in level if self._holds(item, state) is wanted]
            if found:
                self.hits[item.name] = depth, found
                self.violated |= not wanted
        for name, asked in self.mapped.items():
            views = {self.steps.shown(state): self.steps.view(state) for state in level}.values()
            if not all(
                guard(f"property {name!r}", partial(asked.is_state, view)) for view in views
            ):
                self.unmapped = self.violated = True

    def _judge_possible(self, item: Property) -> None:
        """Judge what some state may break: all states are there, and the steps out of each."""
        done = {state for state in self._seen if self._holds(item, state)}
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
        states, runs = list(self._states()), self._runs()
        fair = [item for item in claims if item.kind in ON_FAIR_RUNS]
        if fair:
            self.idle = tuple(runs.with_duties().idle)
        for item in claims:
            if item in fair:
                run = runs.broken_by(
                    item,
                    [self._holds(item, state) for state in states],
                    item.premise and self._said(item, item.premise, states),
                    item.meanwhile and self._said(item, item.meanwhile, states),
                )
            else:
                run = self._broken_step(item, runs, states)
            if run is not None:
                self.traces[item.name] = self._told(item, run, runs, states)

    def _runs(self) -> Runs:
        """Return all steps, with states as numbers."""
        states, codes = list(self._states()), self.steps.codes
        number = {state: at for at, state in enumerate(states)}
        edges = []
        for state, steps in self.out_of.items():
            for move, after in steps:
                place = place_of(move, codes, state.locals)
                label = label_of(move, place)
                edges.append(Edge(number[state], number[after], move, label, place or 0))
        depths = [depth for depth, level in enumerate(self.levels) for _ in level]
        return Runs(codes, depths, edges)

    def _broken_step(self, item: Property, runs: Runs, states: list[State]) -> Run | None:
        asked = self.mapped.get(item.name) or StepClaim(item)
        run = runs.broken_step(asked, lambda at: self.steps.view(states[at]))
        if run is not None:
            ends = [run.begin, *(runs.target[edge] for edge in run.edges)][-2:]
            views = [self.steps.view(states[at]) for at in ends]
            note = asked.told(views[0] if run.edges else None, views[-1])
            self.notes += (note,) if note else ()
        return run

    def _told(self, item: Property, run: Run, runs: Runs, states: list[State]) -> Trace:
        text = self.steps.states_text
        steps = tuple(
            to_step(runs.edges[edge].move, text(states[runs.target[edge]])) for edge in run.edges
        )
        lasso = run.loop_at, run.fairness, run.due_at
        return Trace(item.name, item.kind, text(states[run.begin]), steps, *lasso)

    def _said(self, item: Property, part: Callable[[View], Any], states: list[State]) -> list[bool]:
        known: dict[Any, bool] = {}
        for state in states:
            shown = self.steps.shown(state)
            if shown not in known:
                known[shown] = ask(item, part, self.steps.view(state))
        return [known[self.steps.shown(state)] for state in states]

    def _holds(self, item: Property, state: State) -> bool:
        """Return what the claim says; asked once of what is shown."""
        key = item.name, self.steps.shown(state)
        if key not in self._answers:
            self._answers[key] = guard(
                f"property {item.name!r}", lambda: self.steps.holds(item, state)
            )
        return self._answers[key]

    # -- the report ----------------------------------------------------------------------

    def report(self, witnesses: bool, began: float, cpu: float) -> Report:
        world = self.steps.world
        properties = tuple(self._result(item, witnesses) for item in world.properties)
        broken = [item.trace for item in properties if item.result == "violated" and item.trace]
        fails = any(item.result in ("violated", "not-reached") for item in properties)
        live = any(item.kind in ON_FAIR_RUNS for item in properties)
        coverage = self._coverage()
        dropped = () if world.expiry is None else ("messages of no use are dropped",)
        return Report(
            world=world.name,
            result="violated" if fails else "holds",
            distinct=sum(map(len, self.levels)),
            generated=self.generated,
            depth=len(self.levels),
            levels=tuple(map(len, self.levels)),
            seconds=time.perf_counter() - began,
            cpu_seconds=time.process_time() - cpu,
            peak_rss_bytes=peak_bytes(),
            calls=self.steps.codes.calls,
            engine="local",
            reductions=dropped,
            properties=properties,
            fair_to=tuple(map(str, world.fairness)) if live else (),
            coverage=evolve(coverage, never=(*coverage.never, *self.idle)),
            members=world.size,
            expected=world.expected,
            notes=tuple(filter(None, [*self.notes, self.kept.note() if self.kept else ""])),
            trace=min(broken, key=lambda trace: len(trace.steps), default=None),
        )

    def _result(self, item: Property, witnesses: bool) -> PropertyResult:
        level, trace = None, self.traces.get(item.name)
        fails = item.kind != "sometimes"
        result: Result = "holds" if fails else "not-reached"
        if item.name in self.hits:
            level, states = self.hits[item.name]
            result = "violated" if fails else "reached"
            if fails or witnesses:
                trace = self._way_to(item, level, states)
        elif trace is not None:
            level, result = len(trace.steps), "violated"
        elif self.violated:
            result = "unknown"
        met = None if item.premise is None else item.name in self.premises
        return PropertyResult(item.name, item.kind, result, level, premise_met=met, trace=trace)

    def _way_to(self, item: Property, depth: int, targets: list[State]) -> Trace:
        """Return the least of the shortest runs to one of `targets`."""
        towards = [set(targets)]
        for level in reversed(self.levels[:depth]):
            onward = towards[0]
            before = {s for s in level if any(after in onward for _, after in self.out_of[s])}
            towards.insert(0, before)
        steps, state = self.steps, next(one for one in self.levels[0] if one in towards[0])
        initial = steps.states_text(state)
        taken: list[Step] = []
        for onward in towards[1:]:
            options = [(move, to) for move, to in self.out_of[state] if to in onward]
            move, state = min(options, key=lambda option: order_of(option[0], steps.codes))
            taken.append(to_step(move, steps.states_text(state)))
        return Trace(item.name, item.kind, initial, tuple(taken))

    def _coverage(self) -> Coverage:
        codes = self.steps.codes
        actions: dict[str, int] = {}
        rules = dict.fromkeys(self.steps.world.labels, 0)
        # What could happen, whether or not a budget was left for it: of each outcome its words.
        said: dict[int, str] = {}
        for code in codes.members:
            for (_, event), outcomes in self.steps.asked[code].items():
                for outcome in outcomes:
                    move = Move("choice", ((code.name, outcome),), event)
                    name = said[id(outcome)] = f"{words(move)[0]} ({code.name})"
                    actions.setdefault(name, 0)
                    rules.update({rule: rules.get(rule, 0) for rule in outcome.rules})
        for steps in self.out_of.values():
            for move, _ in steps:
                names = [said[id(outcome)] for _, outcome in move.outcomes]
                if move.kind in ("lose", "duplicate"):
                    names = [move.kind]
                elif move.kind in ("split", "heal"):
                    names = ["split or heal"]
                for name in names:
                    actions[name] = actions.get(name, 0) + 1
                for _, outcome in move.outcomes:
                    for rule in outcome.rules:
                        rules[rule] = rules.get(rule, 0) + 1
        seen = {
            code.name: [thaw(value) for value in {code.shows(s.locals[at]) for s in self._states()}]
            for at, code in enumerate(codes.members)
        }
        return exercised(actions, rules, seen)

    def _states(self) -> Iterable[State]:
        return (state for level in self.levels for state in level)
