"""A world of one large member and small other ones, searched state by state.

Most states of such a world are new local states of one member.  The engine would number each of
these and keep every answer, as `direct.py` says.  Here a state is one number, made of two: that of
the large member's attributes, and that of the rest of the world (`direct_rest.py`).  The large
member answers each question once, as in `direct.py` and with the same checks.  The rest has few
states, and each of its steps is computed once.

No user chooses this search.  A world is first searched in plain Python, and the first states decide
(`large_of`).  If the local states later turn out to be few, or
the states of the rest many, the engine takes over: its compiled loops combine numbers faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, field

from joinproto.check.asking import ask, ask_each, ask_of_view
from joinproto.check.causes import SHOWN_MAX, growth_notes
from joinproto.check.direct import JUDGE_EVERY, NO_BOUNDS, Direct, is_calm, report_of
from joinproto.check.direct_member import DirectMember, Effects, Values
from joinproto.check.direct_rest import BLOCKED, Rest, RestSteps
from joinproto.check.direct_shown import Observations
from joinproto.check.exercised import counted_coverage
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState
from joinproto.check.memory import resident_bytes
from joinproto.check.plain import Bounds, Ends, NeedsOtherSearch, PlainSearch, check_small, searched
from joinproto.check.plain_coverage import TakenSteps, kinds_of, name_of, unwritten_of
from joinproto.check.properties import Property
from joinproto.check.reference import State
from joinproto.check.report import Coverage, Report, States, Step
from joinproto.check.view import View
from joinproto.check.watchdog import WATCH
from joinproto.check.world import World

_SHIFT = 24
_MASK = (1 << _SHIFT) - 1
"""A state is the large member's number, shifted, and that of the rest in the lower bits."""

STATES_PER_LOCAL = 8
"""The direct search begins if a member has a local state for each of so many states, or more."""

STATES_PER_LOCAL_MAX = 32
"""The direct search ends if there are more states than this for each local state."""

STATES_PER_REST = 16
"""There must be this many states, or more, for each state of the rest."""

REST_FREE = 1_000
"""So many states of the rest are always allowed."""

Way = tuple[int, bool, int]
"""A step of the large member: its label, whether it sends messages, and the state after it, which
has the rest 0.
"""


def check_own(world: World, *, witnesses: bool, ends: Ends, bounds: Bounds) -> Report | None:
    """Return the report of a world that is small or has one large member; None for any other.

    Raises `ModelProblem` for a model that cannot be explored.
    """
    if world.same is not None:
        return None
    began, cpu = time.perf_counter(), time.process_time()
    found = searched(
        world, witnesses, ends, bounds, leaves=lambda small: large_of(small) is not None
    )
    if isinstance(found, Report):
        return found
    large = large_of(found)
    if large is None:
        return None
    has_left = found.has_left
    # The states found so far are no longer needed.
    del found
    report = check_large(world, large, witnesses=witnesses, ends=ends, began=began, cpu=cpu)
    if report is None and has_left:
        # The first states misled, or a mistake in the model needs the run that led to it.
        return check_small(world, witnesses=witnesses, ends=ends, bounds=bounds)
    return report


def check_large(
    world: World,
    large: int,
    *,
    witnesses: bool = False,
    ends: Ends | None = None,
    began: float,
    cpu: float,
) -> Report | None:
    """Return the report of a world whose member of number `large` is large; None if the engine
    must search it.  `began`, `cpu`: the clock and the processor time at the beginning, in seconds.
    """

    def begin(limit_bytes: int) -> DirectLarge | None:
        steps = RestSteps(world, large)
        member = DirectMember.of(world, steps.codes.members[large])
        if member is None:
            return None
        rest, limits = Rest(steps), (ends or Ends(), NO_BOUNDS)
        return DirectLarge(steps, *limits, member=member, limit_bytes=limit_bytes, rest=rest)

    return report_of(begin, witnesses, began, cpu)


def large_of(small: PlainSearch) -> int | None:
    """Return the number of the member that has most of a world's states, None if there is none."""
    world, states = small.steps.world, small.reached()
    if not is_calm(world) or world.expiry is not None:
        return None
    count = len(small.steps.codes.names)
    locals_ = [len({state.locals[at] for state in states}) for at in range(count)]
    at = max(range(count), key=locals_.__getitem__)
    if STATES_PER_LOCAL * locals_[at] < len(states):
        return None
    rest = {
        (*state.locals[:at], *state.locals[at + 1 :], state.messages, state.links)
        for state in states
    }
    if STATES_PER_REST * len(rest) > len(states):
        return None
    return None if DirectMember.of(world, small.steps.codes.members[at]) is None else at


@define
class DirectLarge(Direct):
    """The search state by state; `held` has the number of each state, made of two numbers.

    `rest`: the rest of the world.  `values`: the attributes in each local state of the large
    member; `places`: the reverse.  `ways`: its steps in each local state that was asked.
    `heard`: the same for a message, by the number of the local state and that of the message.
    `labels`: (event, effects) of its steps to a number; `named`: the reverse; `times`: how often
    each was taken.  `refused`: events that it offered and did not take somewhere.  `expanded`: how
    often each state of the rest was expanded.
    """

    rest: Rest = field(kw_only=True)
    values: list[Values] = Factory(list)
    places: dict[Values, int] = Factory(dict)
    ways: dict[int, list[Way]] = Factory(dict)
    heard: dict[int, Way | None] = Factory(dict)
    labels: dict[tuple[Hashable, Effects | None], int] = Factory(dict)
    named: list[tuple[Hashable, Effects | None]] = Factory(list)
    times: list[int] = Factory(list)
    refused: dict[Hashable, None] = Factory(dict)
    expanded: dict[int, int] = Factory(dict)
    shown: Observations = field(init=False)
    _kinds: dict[int, tuple[bool, bool]] = Factory(dict)
    _after: dict[int, int] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.shown = Observations(self.member, self.rest, self.values)

    def _key_of(self, state: State) -> Any:
        local = state.locals[self.rest.steps.large]
        return self._place(local.values) << _SHIFT | self.rest.number(state)

    def _place(self, values: Values) -> int:
        """Return the number of the large member's local state with these attributes."""
        count = len(self.values)
        found = self.places.setdefault(values, count)
        if found == count:
            self.values.append(values)
        return found

    def _refuse_others(self) -> None:
        """Raise `NeedsOtherSearch` if the engine is faster, or if memory ends.

        The engine takes less memory for a state, and Spark may take over from it.
        """
        if resident_bytes() > self.limit_bytes:
            raise NeedsOtherSearch
        states, rests = len(self.held), len(self.rest.states)
        few = states > STATES_PER_LOCAL_MAX * len(self.values) + REST_FREE
        if few or rests > REST_FREE + states // STATES_PER_REST or rests > _MASK:
            raise NeedsOtherSearch

    # -- steps -----------------------------------------------------------------------------

    def _add_successors(self, states: Iterable[int]) -> None:
        held, numbers = self.held, self.numbers
        for at, found in self._onward(states):
            WATCH.go_on()
            self.generated += len(found)
            if not found:
                self.stuck.append(at)
            for state in found:
                count = len(held)
                if numbers.setdefault(state, count) == count:
                    held.append(state)
        self._refuse_others()

    def _onward(self, states: Iterable[int]) -> Iterator[tuple[int, list[Any]]]:
        """Yield each of these states with the states after all its steps; count these steps."""
        held, times, rest, expanded = self.held, self.times, self.rest, self.expanded
        known, heard, onward, offers = self.ways, self.heard, rest.onward, rest.offers
        for at in states:
            state = held[at]
            place, around = state >> _SHIFT, state & _MASK
            if around not in onward:
                rest.expand(around)
                expanded[around] = 0
            expanded[around] += 1
            own = state - around
            found = [own + after for after in onward[around]]
            ways = known.get(place)
            for label, sends, to in self._ask(place) if ways is None else ways:
                after = self._sent(around, label) if sends else around
                if after != BLOCKED:
                    times[label] += 1
                    found.append(to + after)
            for message, without in offers[around]:
                asked = place << _SHIFT | message
                way = heard[asked] if asked in heard else self._hear(place, message)
                if way is not None:
                    label, sends, to = way
                    after = self._sent(without, label) if sends else without
                    if after != BLOCKED:
                        times[label] += 1
                        found.append(to + after)
            yield at, found

    def _ask(self, place: int) -> list[Way]:
        """Return the steps that the large member takes by itself in a local state."""
        found: list[Way] = []
        self.ways[place] = found
        for event, after, effects in self.member.answers(self.values[place]):
            if after is None:
                self.refused[event] = None
            else:
                found.append(self._way(event, after, effects))
        return found

    def _hear(self, place: int, message: int) -> Way | None:
        """Return the large member's step at a message; None if it is not enabled."""
        event, before = self.rest.messages[message], self.values[place]
        after, effects = self.member.heard(before, event)
        way = None if after is None else self._way(event, after, effects)
        acts = after is not None and (after != before or effects is not None)
        takes, acted = self._kinds.get(message, (False, False))
        self._kinds[message] = takes or after is not None, acted or acts
        self.heard[place << _SHIFT | message] = way
        return way

    def _way(self, event: Hashable, after: Values, effects: Effects | None) -> Way:
        label = self.labels.setdefault((event, effects), len(self.times))
        if label == len(self.times):
            self.times.append(0)
            self.named.append((event, effects))
        return label, effects is not None and bool(effects[0]), self._place(after) << _SHIFT

    def _sent(self, around: int, label: int) -> int:
        """Return the rest after a step with this label, or `BLOCKED`."""
        key = label << _SHIFT | around
        found = self._after.get(key)
        if found is None:
            _, effects = self.named[label]
            assert effects is not None
            found = self._after[key] = self.rest.after(around, effects)
        return found

    # -- claims ----------------------------------------------------------------------------

    def _judge_held(self, states: range, began: float) -> None:
        """Judge the claims about the states of a level, or some of them if a limit is met."""
        keys = self.held[states.start : states.stop]
        places = dict.fromkeys(key >> _SHIFT for key in keys)
        new = self.shown.observe(places, partial(self._ends_now, began))
        if self.stopped_by:
            return
        new_rest = self.shown.observe_rest({key & _MASK for key in keys})
        for item in self.steps.world.properties:
            premise = item.premise if item.name not in self.premises else None
            if premise is not None and any(self._all_combined(item, premise, keys, began)):
                self.premises.add(item.name)
            if item.name in self.hits or item.kind == "no deadlock":
                continue
            found: list[int] | None
            if item.scope == "each":
                found = self._hits_of_each(item, states, new, new_rest, began)
            else:
                found = self._hits_of_views(item, states, keys, began)
            if found is None:
                return
            if found:
                self.hits[item.name] = len(self.levels) - 1, found  # type: ignore[assignment]
                self.violated |= item.kind != "sometimes"

    def _view(self, at: int) -> View:
        state = self.held[at]
        shown = self.shown
        return shown.view(shown.of[state >> _SHIFT], shown.of_rest[state & _MASK])

    def _hits_of_views(
        self, item: Property, states: range, keys: Sequence[int], began: float
    ) -> list[int] | None:
        """Return the states that a claim about views is after; None if a limit is met."""
        answers = self._all_combined(item, None, keys, began)
        if len(answers) < len(keys):
            return None
        wanted = item.kind == "sometimes"
        return [at for at, is_so in zip(states, answers, strict=True) if is_so is wanted]

    def _all_combined(
        self, item: Property, part: Callable[..., Any] | None, keys: Sequence[int], began: float
    ) -> list[bool]:
        """Return the answers of a part of a claim (None: of the claim), none if a limit is met.

        Of equal combinations of observations, one is asked about.
        """
        shown, rest_shown = self.shown.of, self.shown.of_rest
        seen = [shown[key >> _SHIFT] << _SHIFT | rest_shown[key & _MASK] for key in keys]
        known: dict[int, bool] = {}
        for count, one in enumerate(dict.fromkeys(seen)):
            if count % JUDGE_EVERY == 0 and self._ends_now(began):
                return []
            view = self.shown.view(one >> _SHIFT, one & _MASK)
            known[one] = ask_of_view(item, view) if part is None else ask(item, part, view)
        return [known[one] for one in seen]

    def _hits_of_each(
        self,
        item: Property,
        states: range,
        new: Sequence[int],
        new_rest: Sequence[int],
        began: float,
    ) -> list[int] | None:
        """Return the states that a claim about each member is after; None if a limit is met.

        `new`, `new_rest`: the observations that are new on this level.  The others are no hits, or
        the claim would not be asked any more.
        """
        wanted = item.kind == "sometimes"
        bad: set[int] = set()
        for first in range(0, len(new) if self._is_about(item) else 0, JUDGE_EVERY):
            some = new[first : first + JUDGE_EVERY]
            answers = ask_each(item, item.holds, ((self.shown.observation(one),) for one in some))
            bad.update(one for one, is_so in zip(some, answers, strict=True) if is_so is wanted)
            if self._ends_now(began):
                return None
        rest_bad = {one for one in new_rest if self._is_hit_in_rest(item, one)}
        if not bad and not rest_bad:
            return []
        shown_of, rest_shown_of, held = self.shown.of, self.shown.of_rest, self.held
        found = []
        for at in states:
            state = held[at]
            if shown_of[state >> _SHIFT] in bad or rest_shown_of[state & _MASK] in rest_bad:
                found.append(at)
        return found

    def _is_hit_in_rest(self, item: Property, rest_shown: int) -> bool:
        """Return whether one of the other members shows what a claim about each is after."""
        known = self._known.setdefault((item.name, True), {})
        for at, name in enumerate(self.steps.codes.names):
            one = at, self.shown.of_others[rest_shown][at]
            if at == self.rest.steps.large or name not in (item.among or (name,)):
                continue
            if one not in known:
                known[one] = ask(item, item.holds, thaw(one[1]))
            if known[one] is (item.kind == "sometimes"):
                return True
        return False

    # -- the report ------------------------------------------------------------------------

    def _coverage(self) -> Coverage:
        steps, code, rest, world = self.steps, self.member.code, self.rest, self.steps.world
        taken, kinds = TakenSteps(), kinds_of(steps)
        for around, times in self.expanded.items():
            for move in rest.moves[around]:
                taken.add(move, times)
        actions, rules = taken.counts(steps)
        for (event, effects), times in zip(self.named, self.times, strict=True):
            actions[name_of(code.name, event)] += times
            for rule in effects[1] if effects else ():
                rules[rule] += times
        for event in self.refused:
            actions[name_of(code.name, event)] += 0
        for message, (takes, acts) in self._kinds.items():
            kinds.add(rest.messages[message], takes=takes, acts=acts)
        seen: dict[str, Sequence[Any]] = {}
        grown: list[str] = []
        for at, one in enumerate(steps.codes.members):
            seen[one.name] = [*map(thaw, {shown[at] for shown in self.shown.of_others})]
            values = [rest.states[around].locals[at].values for around in self.shown.of_rest]
            if one is code:
                seen[one.name] = self.shown.some(SHOWN_MAX + 1)
                values = [self.values[place] for place in self.shown.of]
            if self.stopped_by:
                grown += growth_notes(
                    one.name, one.objects.names, [*dict.fromkeys(values)], len(self.levels)
                )
        first: range = self.levels[0]  # type: ignore[assignment]
        begin = [rest.states[state & _MASK] for state in map(self.held.__getitem__, first)]
        unwritten = unwritten_of(steps, begin)
        return counted_coverage(world, actions, rules, seen, kinds, unwritten, grown)

    def _way_to(self, depth: int, targets: Any) -> tuple[States, tuple[Step, ...], Any]:
        times, expanded = [*self.times], dict(self.expanded)
        found = super()._way_to(depth, targets)
        # The steps of this run are counted already.
        self.times[:], self.expanded = times, expanded
        return found

    def _out(self, at: int) -> Iterator[int]:
        ((_, found),) = self._onward([at])
        return (self.numbers[state] for state in found if state in self.numbers)

    def _state(self, at: int) -> State:
        state = self.held[at]
        local = LocalState(True, self.values[state >> _SHIFT], ())
        return self.rest.full_state(state & _MASK, local)
