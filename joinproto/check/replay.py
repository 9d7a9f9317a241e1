"""A run repeated step by step with the members' code, as in tests made from traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TypeVar

from joinproto.check.properties import Property
from joinproto.check.reference import Reference, State
from joinproto.check.report import Step
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, step_view, to_step
from joinproto.check.view import View
from joinproto.check.world import World

S = TypeVar("S")
T = TypeVar("T")
W = TypeVar("W")


def fitting_runs(
    begins: Iterable[S], wanted: Sequence[W], options: Callable[[S, W], Iterable[tuple[T, S]]]
) -> tuple[list[tuple[list[S], list[T]]], int]:
    """Return runs, each as states and steps, and how many of the `wanted` steps they have.

    Of several runs that lead to one state, only the first is returned.  `options`: returns the
    steps out of a state that fit a wanted step, with the states that they lead to.
    """
    runs: list[tuple[list[S], list[T]]] = [([begin], []) for begin in begins]
    for place, one in enumerate(wanted):
        longer: dict[S, tuple[list[S], list[T]]] = {}
        for states, steps in runs:
            for step, after in options(states[-1], one):
                longer.setdefault(after, ([*states, after], [*steps, step]))
        if not longer:
            return runs, place
        runs = list(longer.values())
    return runs, len(wanted)


class Replay:
    """A world at its beginning; each `step` moves it on.

    Steps are found by their words (`joinproto.check.report.Step.label`), so a changed member that
    no longer has such a step fails here and lists its possible steps.  Two steps may have the same
    words (a message asks twice in one ballot), and a world may begin in several states.  So all
    runs that fit are kept; `violates`, `shows`, `stuck` and `loops_to` look for one such run.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._reference = Reference(world)
        self._initials = self._reference.initials()
        self._runs: list[list[State]] = [[state] for state in self._initials]
        self._known: dict[State, list[tuple[Step, State]]] = {}

    def again(self) -> Replay:
        """Return a replay at the world's beginning, for another run; it shares known answers."""
        other = copy(self)
        other._runs = [[state] for state in self._initials]
        return other

    @property
    def states(self) -> list[State]:
        """Return the states of the first run that fits, from the initial one on."""
        return self._runs[0]

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def view(self) -> View:
        """Return the present view: `view.up` has the observations of the running members."""
        return self._reference.view(self.state)

    def possible(self) -> list[tuple[Step, State]]:
        """Return every step possible now, and the state to which it leads."""
        return [option for run in self._runs for option in self._options(run)]

    def _options(self, run: list[State]) -> list[tuple[Step, State]]:
        found = self._known.get(run[-1])
        if found is None:
            successors = self._reference.successors(run[-1])
            found = [(self._words(move, after), after) for move, after in successors]
            self._known[run[-1]] = found
        return found

    def _words(self, move: Move, after: State) -> Step:
        return to_step(move, self._reference.states_text(after))

    def step(self, label: str, member: str | None = None) -> Step:
        """Take the step with these words (of `member`).

        Raises LookupError, which lists the possible steps, if there is no such step.
        """
        taken: list[Step] = []
        runs: list[list[State]] = []
        for run in self._runs:
            for step, after in self._options(run):
                longer = [*run, after]
                if step.label == label and step.member == member and longer not in runs:
                    taken.append(step)
                    runs.append(longer)
        if runs:
            self._runs = runs
            return taken[0]
        words = sorted(
            {f"{step.label!r} of {step.member or 'the world'}" for step, _ in self.possible()}
        )
        raise LookupError(
            f"step {len(self.states)}: no {label!r} of {member or 'the world'} is possible here; "
            f"possible are {', '.join(words)}"
        )

    def violates(self, name: str) -> bool:
        """Return whether the present state breaks the `always` claim of that name."""
        return not all(self._holds(name))

    def shows(self, name: str) -> bool:
        """Return whether the claim of that name is true in the present state."""
        return any(self._holds(name))

    def stuck(self) -> bool:
        """Return whether no step but faults is possible."""
        return any(
            all(move.is_fault for move, _ in self._reference.successors(run[-1]))
            for run in self._runs
        )

    def loops_to(self, index: int) -> bool:
        """Return whether the present state is the state after step `index` (0: initial)."""
        return any(run[-1] == run[index] for run in self._runs)

    def _holds(self, name: str) -> list[bool]:
        claim = self._property(name)
        if claim.scope == "step":
            asked = StepClaim(claim)
            return [self._last_step_holds(asked, run) for run in self._runs]
        return [self._reference.holds(claim, run[-1]) for run in self._runs]

    def _last_step_holds(self, asked: StepClaim, run: list[State]) -> bool:
        view = self._reference.view
        if len(run) == 1:
            return asked.begins(view(run[0]))
        return all(
            asked.holds(view(run[-2]), step_view(move), view(run[-1]))
            for move, after in self._reference.successors(run[-2])
            if after == run[-1]
        )

    def _property(self, name: str) -> Property:
        for item in self.world.properties:
            if item.name == name:
                return item
        raise LookupError(
            f"world {self.world.name} claims no {name!r}; it claims "
            + ", ".join(item.name for item in self.world.properties)
        )
