"""Claims about the states and runs of a plain search, evaluated by their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from attrs import define, field

from tools.soundness.plain_search import PlainSteps, Setting, State, Step, TooLarge, key_of

Part = set[int]
Duty = tuple[bool, Hashable]
"""A duty, which is a step that fairness forces: whether fairness to it is strong, and its name."""


@define
class Space:
    """All reachable states; the first `begins` states are initial.

    `steps`: the steps out of each state, with their targets.  `out`: for each step out of a state
    the duties that it fulfils, and its target.
    """

    setting: Setting
    states: list[State]
    begins: int
    steps: list[list[tuple[Step, int]]]
    everything: range = field(init=False)
    depth: dict[int, int] = field(init=False)
    out: list[list[tuple[set[Duty], int]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.everything = range(len(self.states))
        # A run may pause: a pause is a step that changes nothing and fulfils no duty.
        self.out = [
            [(set(), at), *((set(self._duties(step)), to) for step, to in steps if to != at)]
            for at, steps in enumerate(self.steps)
        ]
        self.depth = reached(range(self.begins), lambda at: [to for _, to in self.out[at]])

    def levels(self) -> tuple[int, ...]:
        return tuple(Counter(sorted(self.depth.values())).values())

    def least(self, wanted: Iterable[int]) -> int | None:
        """Return the smallest depth of a wanted state, or None."""
        return min((self.depth[at] for at in wanted), default=None)

    def hopeless(self, good: Part) -> Part:
        """Return the states from which no run without further faults reaches a good one."""
        return {at for at in self.everything if good.isdisjoint(reached([at], self._calm))}

    def stuck(self, done: Part) -> Part:
        return {at for at in self.everything if not self._calm(at)} - done

    def _calm(self, at: int) -> list[int]:
        return [to for step, to in self.steps[at] if not step.is_fault]

    def least_step(self, allows: Callable[[int, Step, int], bool]) -> int | None:
        """Return the length of the shortest run whose last step is not allowed, or None."""
        steps = [(at, step, to) for at, steps in enumerate(self.steps) for step, to in steps]
        return min((self.depth[step[0]] + 1 for step in steps if not allows(*step)), default=None)

    # -- fair runs ---------------------------------------------------------------------------

    def _duties(self, step: Step) -> Iterable[Duty]:
        for strong, words, member in self.setting.fairness:
            if step.name is None or (words and step.word not in words):
                continue
            if member in (None, step.member):
                yield strong, step.name if member is None else (words, member)

    def broken(
        self, kind: str, holds: Part, premise: Part | None = None, meanwhile: Part | None = None
    ) -> bool:
        """Return whether a fair run breaks the claim.

        `holds`: the states where the claim is met.  `premise`: the states where it becomes due;
        None means the kind's own.  `meanwhile`: the states in which it may wait; None means all.
        """
        everything = set(self.everything)
        without = everything - holds
        if kind == "eventually always":  # broken by a fair run that lacks it again and again
            return self._can_stay(everything, without)
        begins = everything if kind == "infinitely often" else set(range(self.begins))
        begins = begins if premise is None else premise
        waits = without if meanwhile is None else without & meanwhile
        on_way = self._onward(begins, waits)
        met = (begins & without).union(to for at in on_way for _, to in self.out[at])
        return bool(met & without - waits) or self._can_stay(on_way, on_way)

    def _onward(self, first: Part, region: Part) -> Part:
        """Return the states reachable from `first` without leaving `region`."""
        return {*reached(first & region, lambda at: region & {to for _, to in self.out[at]})}

    def _can_stay(self, region: Part, wanted: Part) -> bool:
        """Return whether a fair run can stay in `region` forever, with `wanted` again and again."""
        onward = {at: self._onward({at}, region) for at in region}
        # The maximal sets of states that lead to each other.
        parts = {frozenset(to for to in onward[at] if at in onward[to]) for at in region}
        for part in parts:
            done = {one for at in part for these, to in self.out[at] if to in part for one in these}
            owed = {at: {duty for one, _ in self.out[at] for duty in one} - done for at in part}
            is_weak = any(not strong for strong, _ in set.intersection(*owed.values()))
            if is_weak or not part & wanted:
                continue  # nor can a smaller part be fair
            rest = {at for at in part if not any(strong for strong, _ in owed[at])}
            if rest == part or self._can_stay(rest, wanted):
                return True
        return False


def reached(first: Iterable[int], after: Callable[[int], Iterable[int]]) -> dict[int, int]:
    """Return the number of steps to each reachable state."""
    found = dict.fromkeys(first, 0)
    queue = list(found)
    for at in queue:
        for to in after(at):
            if to not in found:
                found[to] = found[at] + 1
                queue.append(to)
    return found


def search(setting: Setting, *, states_max: int) -> Space:
    """Return all reachable states; raises `TooLarge` if there are more than `states_max`."""
    plain, number = PlainSteps(setting), dict[Hashable, int]()
    states: list[State] = []

    def add(state: State) -> int:
        at = number.setdefault(key_of(state, setting.network), len(states))
        if at == len(states):
            if at >= states_max:
                raise TooLarge
            states.append(state)
        return at

    begins = len({add(state) for state in plain.first()})
    # `add` appends states to the list while it is iterated.
    steps = [[(step, add(step.after)) for step in plain.steps(state)] for state in states]
    return Space(setting, states, begins, steps)
