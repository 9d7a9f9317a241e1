"""Claims about whole runs, judged slowly and from the definitions.

This module does not compute strongly connected components.  A run that breaks `eventually` is a
walk to a state and a loop through this state.  Fairness forces each step that stays possible;
such a step is called a duty here.  A loop is fair if each duty is fulfilled or impossible somewhere
on the loop: such a duty is settled.  For each state, the search follows loops through the state and
keeps the set of settled duties.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from joinproto.check.properties import Kind, Property
from joinproto.check.reference import State
from joinproto.check.report import Trace
from joinproto.check.steps import Move, order_of, to_step
from tools.slow_search import Explored


class TooLarge(Exception):
    """There are more pairs of a state and settled duties than `pairs_max`."""


class Runs:
    """The graph of a finished reference search: `explore(world, keep_edges=True)`."""

    def __init__(self, found: Explored) -> None:
        self.found = found
        self.reference = found.reference
        self.states = list(found.level_of)
        self.level = list(found.level_of.values())
        self.out: dict[int, list[tuple[int, Move]]] = defaultdict(list)
        self.duty: dict[int, list[tuple[int, Hashable]]] = defaultdict(list)
        for source, move, target in found.edges:
            self.out[source].append((target, move))
            self.duty[source].append((target, self.duty_of(self.states[source], move)))

    def duty_of(self, state: State, move: Move) -> Hashable:
        """Return the duty that this step fulfils, or None if fairness never forces the step."""
        if move.is_fault:
            return None
        if move.together is not None:
            return ("together", move.together.action) if move.together.fair else None
        if move.kind == "heal":
            return "heal"
        if move.kind == "receive":
            return ("receive", move.message, move.member)
        assert move.member is not None
        at = self.reference.codes.names.index(move.member)
        choices = self.reference.codes.members[at].choices(state.locals[at])
        fair = any(choice.fair and choice.event == move.event for choice in choices)
        return ("choice", move.member, move.event) if fair else None

    def where(self, holds: Callable[[State], bool]) -> set[int]:
        return {number for number, state in enumerate(self.states) if holds(state)}

    def claimed(self, item: Property) -> set[int]:
        return self.where(lambda state: self.reference.holds(item, state))

    # -- no deadlock, always possible --------------------------------------------------

    def stuck(self, item: Property) -> set[int]:
        """Return the states whose only steps are faults and in which `item` does not hold."""
        return {
            number
            for number in range(len(self.states))
            if all(move.is_fault for _, move in self.out[number])
        } - self.claimed(item)

    def hopeless(self, item: Property) -> set[int]:
        """Return the states from which `item` cannot come true without a fault."""
        wanted = self.claimed(item)
        return {number for number in range(len(self.states)) if not self._leads(number, wanted)}

    def _leads(self, number: int, wanted: set[int]) -> bool:
        reached, waiting = {number}, [number]
        for here in waiting:
            if here in wanted:
                return True
            for target, move in self.out[here]:
                if not move.is_fault and target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return False

    def shortest_to(self, wanted: set[int], name: str, kind: Kind) -> Trace:
        """Return the shortest run to a state in `wanted`; of several, the first by `order_of`."""
        depth = min(self.level[number] for number in wanted)
        towards = [{number for number in wanted if self.level[number] == depth}]
        for level in range(depth - 1, -1, -1):
            towards.insert(
                0,
                {
                    number
                    for number in range(len(self.states))
                    if self.level[number] == level
                    and any(target in towards[0] for target, _ in self.out[number])
                },
            )
        codes, at, steps = self.reference.codes, 0, []
        for level in range(1, depth + 1):
            options = [(move, to) for to, move in self.out[at] if to in towards[level]]
            move, at = min(options, key=lambda option: order_of(option[0], codes))
            steps.append(to_step(move, self.reference.states_text(self.states[at])))
        initial = self.reference.states_text(self.states[0])
        return Trace(name, kind, initial, tuple(steps))

    # -- eventually --------------------------------------------------------------------

    def avoidable(self, item: Property, *, pairs_max: int = 60_000) -> bool:
        """Return whether some fair run never meets a state in which `item` holds."""
        without = set(range(len(self.states))) - self.claimed(item)
        if 0 not in without:
            return False
        region, waiting = {0}, [0]
        for here in waiting:
            for target, _ in self.out[here]:
                if target in without and target not in region:
                    region.add(target)
                    waiting.append(target)
        return any(self._fair_loop(number, region, pairs_max) for number in region)

    def _fair_loop(self, start: int, region: set[int], pairs_max: int) -> bool:
        duties = {duty for n in region for _, duty in self.duty[n] if duty is not None}

        def settled_at(number: int) -> frozenset[Hashable]:
            return frozenset(duties - {duty for _, duty in self.duty[number]})

        first = (start, settled_at(start))
        seen, waiting = {first}, [first]
        for here, settled in waiting:
            if here == start and len(settled) == len(duties):
                return True
            for target, duty in self.duty[here]:
                if target in region:
                    pair = (target, settled | settled_at(target) | {duty} - {None})
                    if pair not in seen:
                        seen.add(pair)
                        waiting.append(pair)
            if len(seen) > pairs_max:
                raise TooLarge
        return False


def is_fair_lasso(runs: Runs, item: Property, trace: Trace) -> bool:
    """Return whether `trace` is a run of the world that avoids `item` and loops fairly."""
    assert trace.loop_at is not None
    reference = runs.reference
    walks: list[list[tuple[int, Hashable]]] = [[(0, None)]]
    # Several steps may have the same words, so follow all that fit.
    for step in trace.steps:
        longer = []
        for walk in walks:
            here = walk[-1][0]
            for (target, move), (_, duty) in zip(runs.out[here], runs.duty[here], strict=True):
                if to_step(move, reference.states_text(runs.states[target])) == step:
                    longer.append([*walk, (target, duty)])
        walks = longer
    claimed = runs.claimed(item)
    for walk in walks:
        numbers = [number for number, _ in walk]
        loop = walk[trace.loop_at :]
        if claimed & set(numbers) or loop[0][0] != loop[-1][0]:
            continue
        open_duties = {duty for n, _ in loop for _, duty in runs.duty[n] if duty is not None}
        done = {duty for _, duty in loop[1:]}
        impossible = {
            duty
            for duty in open_duties
            if any(duty not in {d for _, d in runs.duty[n]} for n, _ in loop)
        }
        if open_duties <= done | impossible:
            return True
    return False
