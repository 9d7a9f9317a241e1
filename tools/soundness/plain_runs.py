"""What is claimed of the states and runs of a plain search, from the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from attrs import define, field

from tools.soundness.plain_search import Plain, Setting, State, Step, TooLarge, key_of

Flags = Sequence[bool]
Edge = tuple[int, Step, int]


@define
class Space:
    """Everything reachable; the first `begins` states begin runs."""

    setting: Setting
    states: list[State]
    begins: int
    steps: list[Edge]
    depth: dict[int, int] = field(init=False)
    out: list[list[tuple[frozenset[Hashable], int]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.depth = reached(range(self.begins), [(at, to) for at, _, to in self.steps])
        # A run may pause: that is a step which changes nothing.
        self.out = [[(frozenset(), at)] for at in range(len(self.states))]
        for at, step, to in self.steps:
            if at != to:
                self.out[at].append((frozenset(self._duties(step)), to))

    @property
    def is_idle(self) -> bool:
        """Whether no step changes anything."""
        return len(self.states) == self.begins == 1

    def levels(self) -> tuple[int, ...]:
        counts = Counter(self.depth.values())
        return tuple(counts[depth] for depth in range(len(counts)))

    def least(self, wanted: Iterable[bool]) -> int | None:
        """Return the depth of the first state that is wanted."""
        return min(
            (self.depth[at] for at, is_wanted in enumerate(wanted) if is_wanted), default=None
        )

    def hopeless(self, good: Flags) -> list[bool]:
        """Return from which states no step but faults leads to a good one."""
        back = [(to, at) for at, step, to in self.steps if not step.is_fault]
        found = reached([at for at, is_good in enumerate(good) if is_good], back)
        return [at not in found for at in range(len(good))]

    def stuck(self, done: Flags) -> list[bool]:
        goes_on = {at for at, step, _ in self.steps if not step.is_fault}
        return [at not in goes_on and not done[at] for at in range(len(done))]

    def least_step(self, allows: Callable[[int, Step, int], bool]) -> int | None:
        """Return how long the shortest run is whose last step is not allowed."""
        bad = [self.depth[at] + 1 for at, step, to in self.steps if not allows(at, step, to)]
        return min(bad, default=None)

    # -- fair runs ---------------------------------------------------------------------------

    def _duties(self, step: Step) -> Iterable[Hashable]:
        """Yield what a step fulfils: (strong, its name)."""
        for strong, words, member in self.setting.fairness:
            if step.name is None or (words and step.word not in words):
                continue
            if member is None:
                yield strong, step.name
            elif member == step.member:
                yield strong, (words, member)

    def broken(
        self,
        kind: str,
        holds: Flags,
        premise: Flags | None = None,
        meanwhile: Flags | None = None,
    ) -> bool:
        """Return whether some fair run breaks the claim."""
        everything = range(len(self.states))
        without = {at for at in everything if not holds[at]}
        if kind == "until":
            assert meanwhile is not None
            begins = set(range(self.begins))
            if premise is not None:
                begins = {at for at in everything if premise[at]}
            on_way = self._onward(begins & without, {at for at in without if meanwhile[at]})
            gone = any(not meanwhile[at] for at in begins & without)
            gone |= any(
                to in without and not meanwhile[to] for at in on_way for _, to in self.out[at]
            )
            return gone or self._fair_from(on_way, on_way)
        if kind == "eventually":
            begins = set(range(self.begins)) & without
        elif kind == "leads to":
            assert premise is not None
            begins = {at for at in without if premise[at]}
        elif kind == "infinitely often":
            begins = without
        else:  # eventually always: a fair run that is without it again and again
            return self._fair_from(set(everything), set(everything), wanted=without)
        return self._fair_from(self._onward(begins, without), without)

    def _onward(self, begins: set[int], region: set[int]) -> set[int]:
        ways = [(at, to) for at in region for _, to in self.out[at] if to in region]
        return set(reached(begins & region, ways))

    def _fair_from(
        self, region: set[int], inside: set[int], wanted: set[int] | None = None
    ) -> bool:
        """Return whether a fair run can stay for ever in a part of `region`."""
        for part in self._parts(region & inside):
            if wanted is not None and not part & wanted:
                continue
            taken = {
                duty for at in part for duties, to in self.out[at] if to in part for duty in duties
            }
            open_at = {at: {duty for duties, _ in self.out[at] for duty in duties} for at in part}
            owed = {duty for duties in open_at.values() for duty in duties} - taken
            if any(not duty[0] and all(duty in open_at[at] for at in part) for duty in owed):  # type: ignore[index]
                continue  # nor can a smaller part be fair
            strong = {duty for duty in owed if duty[0]}  # type: ignore[index]
            if not strong:
                return True
            smaller = {at for at in part if not open_at[at] & strong}
            if self._fair_from(smaller, smaller, wanted):
                return True
        return False

    def _parts(self, region: set[int]) -> list[set[int]]:
        """Return the sets of states that lead to one another."""
        ways = [(at, to) for at in region for _, to in self.out[at] if to in region]
        back = [(to, at) for at, to in ways]
        left, parts = set(region), []
        while left:
            at = left.pop()
            part = set(reached([at], ways)) & set(reached([at], back))
            left -= part
            parts.append(part)
        return parts


def reached(first: Iterable[int], ways: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return how many steps lead to each of what can be reached."""
    after: dict[int, list[int]] = {}
    for source, target in ways:
        after.setdefault(source, []).append(target)
    found = dict.fromkeys(first, 0)
    queue = list(found)
    for at in queue:
        for target in after.get(at, ()):
            if target not in found:
                found[target] = found[at] + 1
                queue.append(target)
    return found


def search(setting: Setting, *, states_max: int) -> Space:
    """Return everything reachable; raises `TooLarge`."""
    plain = Plain(setting)
    number: dict[Hashable, int] = {}
    states: list[State] = []

    def add(state: State) -> int:
        key = key_of(state, setting.network)
        if key not in number:
            if len(number) >= states_max:
                raise TooLarge
            number[key] = len(number)
            states.append(state)
        return number[key]

    for state in plain.first():
        add(state)
    begins = len(states)
    steps = []
    for at, state in enumerate(states):
        steps += [(at, step, add(step.after)) for step in plain.steps(state)]
    return Space(setting, states, begins, steps)
