"""A world of one member, searched state by state: its states are the states of that member.

The engine is fast if each member has few local states: it numbers these, asks each question once,
and combines numbers.  In a world of one member, each state is a new local state, and numbering it
and keeping every answer costs more than the answer.  Here a state is the tuple of the member's
attributes, hashed once, and each question is put once, when the state is expanded.

The checks of the member's code are the same as in other searches:

* For the first `CHECKED_STATES` states, `joinproto/check/member.py` puts the questions.  It puts
  each question twice, lets a fresh process answer some, and puts some again when the search is
  over.
* After that, one question in `EVERY` is put again at once, on a fresh object.
* `member.py` also puts the questions in a state whose answers are not plain (`Maybe`, an exception,
  an attribute that comes or goes, a dict or a set, which have an order).
* A call that does not return is ended.

Worlds of one large member and small other ones are searched in the same way (`direct_large.py`).
Other searches take the worlds that this search cannot: with faults, joint steps, or claims about
runs (`is_calm`).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, evolve, field

from joinproto.check.asking import ask, ask_each, is_within
from joinproto.check.causes import growth_notes
from joinproto.check.direct_member import DirectMember, Effects, Values
from joinproto.check.exercised import MessageKinds, counted_coverage
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState
from joinproto.check.memory import collected_seldom, default_limit_bytes, resident_bytes
from joinproto.check.plain import Bounds, Ends, NeedsOtherSearch, PlainSearch
from joinproto.check.plain_coverage import name_of
from joinproto.check.plain_steps import Steps
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property
from joinproto.check.reference import State
from joinproto.check.report import Coverage, Report, States, Step
from joinproto.check.steps import order_of, to_step
from joinproto.check.view import View
from joinproto.check.watchdog import WATCH
from joinproto.check.world import World

KINDS = ("always", "sometimes", "no deadlock")
"""Kinds of claims that need no graph of all steps."""

_EXPAND_BATCH = 1 << 10
"""The limits are checked after every batch of this many expanded states."""

JUDGE_EVERY = 1 << 8
"""The limits are checked after every batch of this many states that are judged."""

RETRIED_STATES_MAX = 100_000
"""If the search meets a problem within this many states, other searches are used instead, because
they report the run that led to it.
"""

NO_BOUNDS = Bounds(1 << 62, 1 << 62, 1 << 62, 1 << 62)


def is_direct(world: World) -> bool:
    """Return whether a world is one of one member that can be searched state by state."""
    return len(world.members) == 1 and is_calm(world)


def is_calm(world: World) -> bool:
    """Return whether members, their messages and claims about states are all that a world has."""
    faults = world.faults
    return (
        world.monitor is None
        and not (faults.crashes or faults.partitions or faults.losses)
        and not (faults.duplicates or faults.wipes)
        and world.together is None
        and world.same is None
        and world.show_disk is None
        and not world.show_links
        and world.start == "up"
        and all(item.kind in KINDS for item in world.properties)
        and all(item.scope in ("world", "each", "pair") for item in world.properties)
    )


def check_direct(
    world: World,
    *,
    witnesses: bool = False,
    ends: Ends | None = None,
    memory_max_bytes: int | None = None,
) -> Report | None:
    """Return the report of a world of one member; None if another search is needed.

    `ends`: limits, and Ctrl-C.  `memory_max_bytes`: of the process; by default it may grow by four
    fifths of the available memory.  Raises `ModelProblem` for a model that cannot be explored.
    """
    if not is_direct(world):
        return None
    began, cpu = time.perf_counter(), time.process_time()

    def begin(limit_bytes: int) -> Direct | None:
        steps = Steps(world)
        member = DirectMember.of(world, steps.codes.members[0])
        if member is None:
            return None
        return Direct(steps, ends or Ends(), NO_BOUNDS, member=member, limit_bytes=limit_bytes)

    return report_of(begin, witnesses, began, cpu, memory_max_bytes)


def report_of(
    begin: Callable[[int], Direct | None],
    witnesses: bool,
    began: float,
    cpu: float,
    memory_max_bytes: int | None = None,
) -> Report | None:
    """Return the report of a search; None if another search is needed.

    `begin`: returns the search for a limit of bytes, None if there is none.  `began`, `cpu`: the
    clock and the processor time when the search began, in seconds.
    """
    try:
        with collected_seldom():
            limit = default_limit_bytes() if memory_max_bytes is None else memory_max_bytes
            found = begin(limit)
            if found is None:
                return None
            found.run(began)
            found.steps.codes.ask_again()
            return found.report(witnesses, began, cpu)
    except NeedsOtherSearch:
        return None


class _Shown(Sequence[Any]):
    """The observations of a member that shows its attributes, computed at each use."""

    def __init__(self, held: Sequence[Values], seen: Callable[[Values], Any]) -> None:
        self._held, self._seen = held, seen

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._seen(values) for values in self._held[at]]
        return self._seen(self._held[at])

    def __iter__(self) -> Iterator[Any]:
        return map(self._seen, self._held)


@define
class Direct(PlainSearch):
    """The search state by state.  States are numbered from 0 in the order in which they are found.

    `held`: the frozen attributes of each state; `numbers`: the reverse.  `taken`: event to how
    often it was taken; `rules`: the same for cases of tables.  `stuck`: states from which the
    search takes no step.
    """

    member: DirectMember = field(kw_only=True)
    limit_bytes: int = field(kw_only=True)
    held: list[Any] = Factory(list)
    numbers: dict[Any, int] = Factory(dict)
    taken: dict[Hashable, int] = Factory(dict)
    rules: dict[str, int] = Factory(dict)
    stuck: list[int] = Factory(list)
    _shows_itself: bool = False
    _all_shown: dict[Hashable, None] = Factory(dict)
    _known: dict[tuple[str, bool], dict[Hashable, bool]] = Factory(dict)

    def run(self, began: float) -> None:
        """Explore level by level, to the end or to the first level with a violation."""
        self._shows_itself = self.member.shows_itself
        for state in self.steps.initials(lambda: self._ends_now(began)):
            self._take_in(self._key_of(state))
        self.generated, begin = len(self.held), 0
        try:
            while begin < len(self.held) and not self.stopped_by:
                end = len(self.held)
                self.levels.append(range(begin, end))  # type: ignore[arg-type]
                self._judge_held(range(begin, end), began)
                if self.violated or self._ends_here(end):
                    break
                self._expand(range(begin, end), began)
                begin = end
        except ModelProblem as problem:
            if len(self.held) < RETRIED_STATES_MAX and not self.member.raised(problem):
                raise NeedsOtherSearch from problem
            raise
        if not self.stopped_by and not self.violated:
            self._judge_stuck(began)

    def _key_of(self, state: State) -> Hashable:
        """Return what `held` has for a state; raises `NeedsOtherSearch` if it has messages."""
        if state.messages or state.links:
            raise NeedsOtherSearch
        return state.locals[0].values

    def _take_in(self, key: Any) -> None:
        if key not in self.numbers:
            self.numbers[key] = len(self.held)
            self.held.append(key)

    # -- steps -----------------------------------------------------------------------------

    def _expand(self, states: range, began: float) -> None:
        """Add all successors of a level, or those found until a limit is met."""
        name = self.member.code.name
        for first in range(states.start, states.stop, _EXPAND_BATCH):
            some = self._inside(range(first, min(first + _EXPAND_BATCH, states.stop)))
            WATCH.run(f"member {name}: a step", partial(self._add_successors, some))
            if self._ends_now(began):
                return
            if resident_bytes() > self.limit_bytes:
                self.stopped_by = (
                    f"the memory limit of {self.limit_bytes / 2**20:,.0f} MiB"
                    f" ({resident_bytes() / 2**20:,.0f} MiB in use)"
                )
                return

    def _inside(self, states: range) -> Sequence[int]:
        """Return the states that the world's `within` allows; count the others."""
        within = self.steps.world.within
        if within is None:
            return states
        inside = [at for at in states if is_within(within, self._view(at))]
        self.beyond += len(states) - len(inside)
        self.stuck += sorted({*states} - {*inside})
        return inside

    def _add_successors(self, states: Iterable[int]) -> None:
        held, numbers, taken = self.held, self.numbers, self.taken
        answers = self.member.answers
        for at in states:
            WATCH.go_on()
            steps = 0
            for event, after, effects in answers(held[at]):
                if after is None:
                    taken.setdefault(event, 0)
                    continue
                if effects is not None:
                    self._count_rules(effects)
                steps += 1
                taken[event] = taken.get(event, 0) + 1
                count = len(held)
                if numbers.setdefault(after, count) == count:
                    held.append(after)
            self.generated += steps
            if not steps:
                self.stuck.append(at)

    def _count_rules(self, effects: Effects) -> None:
        sent, rules = effects
        if sent:
            raise NeedsOtherSearch
        for rule in rules:
            self.rules[rule] = self.rules.get(rule, 0) + 1

    # -- claims ----------------------------------------------------------------------------

    def _shown(self, at: int) -> Any:
        """Return the observation in a state as claims get it: a copy if it is mutable."""
        values = self.held[at]
        return self.member.seen(values) if self._shows_itself else thaw(self.member.shown(values))

    def _view(self, at: int) -> View:
        return self._view_of(self._shown(at))

    def _view_of(self, shown: Any) -> View:
        return View(self.steps.codes.names, (shown,), (), None, None)

    def _judge_held(self, states: range, began: float) -> None:
        """Judge the claims about the states of a level, or some of them if a limit is met."""
        shown: Sequence[Hashable] = states
        if not self._shows_itself:
            shown = self._shown_in(states, began)
            self._all_shown.update(dict.fromkeys(shown))
        if self.stopped_by:
            return
        for item in self.steps.world.properties:
            premise = item.premise if item.name not in self.premises else None
            if premise is not None and any(self._all_asked(item, premise, shown, began)):
                self.premises.add(item.name)
            if item.name in self.hits or item.kind == "no deadlock":
                continue
            wanted = item.kind == "sometimes"
            answers = self._all_asked(item, item.holds, shown, began)
            if len(answers) < len(shown):
                return
            found = [at for at, is_so in zip(states, answers, strict=True) if is_so is wanted]
            if found:
                self.hits[item.name] = len(self.levels) - 1, found  # type: ignore[assignment]
                self.violated |= not wanted

    def _shown_in(self, states: range, began: float) -> list[Hashable]:
        """Return the frozen observations in these states, or in fewer if a limit is met."""
        found: list[Hashable] = []

        def go(some: range) -> None:
            for at in some:
                WATCH.go_on()
                found.append(self.member.shown(self.held[at]))

        what = f"member {self.member.code.name}: {self.member.asks_to_show}"
        for first in range(states.start, states.stop, JUDGE_EVERY):
            some = range(first, min(first + JUDGE_EVERY, states.stop))
            WATCH.run(what, partial(go, some))
            if self._ends_now(began):
                break
        return found

    def _all_asked(
        self, item: Property, part: Callable[..., Any], shown: Sequence[Hashable], began: float
    ) -> list[bool]:
        """Return the answers as `_asked` does, or fewer of them if a limit is met."""
        found: list[bool] = []
        for first in range(0, len(shown), JUDGE_EVERY):
            found += self._asked(item, part, shown[first : first + JUDGE_EVERY])
            if self._ends_now(began):
                break
        return found

    def _asked(
        self, item: Property, part: Callable[..., Any], shown: Sequence[Hashable]
    ) -> list[bool]:
        """Return the answers of a claim, or its premise, evaluated once for equal observations.

        `shown`: numbers of states if the member shows its attributes, or else frozen observations.
        """
        if part is item.holds and item.scope != "world" and not self._is_about(item):
            return [item.kind == "always"] * len(shown)
        if self._shows_itself:
            return self._answers_to(item, part, map(self._shown, shown))  # type: ignore[arg-type]
        known = self._known.setdefault((item.name, part is item.holds), {})
        fresh = [one for one in dict.fromkeys(shown) if one not in known]
        answers = self._answers_to(item, part, map(thaw, fresh))
        known.update(zip(fresh, answers, strict=True))
        return [known[one] for one in shown]

    def _is_about(self, item: Property) -> bool:
        """Return whether a claim is about each member, this member included."""
        name = self.member.code.name
        return item.scope == "each" and (item.among is None or name in item.among)

    def _answers_to(
        self, item: Property, part: Callable[..., Any], shown: Iterable[Any]
    ) -> list[bool]:
        if part is item.holds and item.scope == "each":
            return ask_each(item, item.holds, ((one,) for one in shown))
        return [ask(item, part, self._view_of(one)) for one in shown]

    def _judge_stuck(self, began: float) -> None:
        """Judge deadlocks, up to the level of the first one that a claim does not allow."""
        for item in self.steps.world.properties:
            if item.kind != "no deadlock":
                continue
            depth, level, bad = 0, range(len(self.held)), list[int]()
            for count, at in enumerate(sorted(self.stuck)):
                if at not in level or (count % JUDGE_EVERY == 0 and self._ends_now(began)):
                    break
                if ask(item, item.holds, self._view(at)):
                    continue
                if not bad:
                    depth = self._depth_of(at)
                    level = self.levels[depth]  # type: ignore[assignment]
                bad.append(at)
            if bad:
                self.hits[item.name] = depth, bad  # type: ignore[assignment]

    def _depth_of(self, at: int) -> int:
        return bisect_right([level.start for level in self.levels], at) - 1  # type: ignore[attr-defined]

    # -- the report ------------------------------------------------------------------------

    def report(self, witnesses: bool, began: float, cpu: float) -> Report:
        """Return the report, which says that the world was searched state by state."""
        return evolve(super().report(witnesses, began, cpu), method="states")

    def _coverage(self) -> Coverage:
        steps, code = self.steps, self.steps.codes.members[0]
        actions: dict[str, int] = {}
        for event, times in self.taken.items():
            name = name_of(code.name, event)
            actions[name] = actions.get(name, 0) + times
        rules = dict.fromkeys(steps.world.labels, 0) | self.rules
        seen: Sequence[Any] = [*map(thaw, self._all_shown)]
        if self._shows_itself:
            # All states show the same attributes, so one is enough unless texts are listed.
            missed = any(
                item.kind == "sometimes" and item.name not in self.hits
                for item in steps.world.properties
            )
            seen = _Shown(self.held if missed else self.held[:1], self.member.seen)
        grown: Iterator[str] = iter(())
        if self.stopped_by:
            grown = growth_notes(code.name, code.objects.names, self.held, len(self.levels))
        return counted_coverage(
            steps.world, actions, rules, {code.name: seen}, MessageKinds(), (), [*grown]
        )

    def _way_to(self, depth: int, targets: Any) -> tuple[States, tuple[Step, ...], Any]:
        """Return a shortest run to a state of `targets`: the initial state, the steps, the end.

        Of several, the one from the first initial state, then with the first steps by `order_of`.
        """
        objects = self.member.code.objects
        calls = objects.calls
        towards: list[set[int]] = [set(targets)]
        stuck = {*self.stuck}
        level: Any
        for level in reversed(self.levels[:depth]):
            onward = towards[0]
            free = [at for at in level if at not in stuck]
            towards.insert(0, {at for at in free if not onward.isdisjoint(self._out(at))})
        at = min(towards[0])
        initial = self._text(at)
        taken: list[Step] = []
        for onward in towards[1:]:
            options = [
                (move, self._number(to)) for move, to in self.steps.successors(self._state(at))
            ]
            options = [(move, to) for move, to in options if to in onward]
            move, at = min(options, key=lambda option: order_of(option[0], self.steps.codes))
            taken.append(to_step(move, self._text(at)))
        # The questions repeated for this run are not counted.
        objects.calls = calls
        return initial, tuple(taken), at

    def _out(self, at: int) -> Iterator[int]:
        answers = self.member.answers(self.held[at])
        return (self.numbers[after] for _, after, _ in answers if after in self.numbers)

    def _state(self, at: int) -> State:
        local = LocalState(True, self.held[at], ())
        return State((local,), None, self.steps.environment.states[0])

    def _number(self, state: State) -> int:
        return self.numbers.get(self._key_of(state), -1)

    def _text(self, at: int) -> States:
        return self.steps.states_text(self._state(at))
