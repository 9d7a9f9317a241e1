"""A run taken again, step by step, by the real member code: what a pasted trace does."""

from __future__ import annotations

from models.properties import Property
from models.reference import Reference, State
from models.report import Step
from models.steps import Move, to_step
from models.world import World


class Replay:
    """A world at its beginning; each `step` moves it on.

    Steps are found by their words (`models.report.Step.label`), so a changed member that no
    longer has such a step fails here and says what it could do instead.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._reference = Reference(world)
        self.states: list[State] = [self._reference.initial()]

    @property
    def state(self) -> State:
        return self.states[-1]

    def possible(self) -> list[tuple[Step, State]]:
        """Return every step possible now, and the state each leads to."""
        reference = self._reference
        return [
            (self._words(move, after), after) for move, after in reference.successors(self.state)
        ]

    def _words(self, move: Move, after: State) -> Step:
        return to_step(move, self._reference.states_text(after))

    def step(self, label: str, member: str | None = None) -> Step:
        """Take the step with these words (of `member`); raises LookupError with the others."""
        options = self.possible()
        for step, after in options:
            if step.label == label and step.member == member:
                self.states.append(after)
                return step
        words = sorted({f"{step.label!r} of {step.member or 'no one'}" for step, _ in options})
        raise LookupError(
            f"step {len(self.states)}: no {label!r} of {member or 'no one'} is possible here; "
            f"possible are {', '.join(words)}"
        )

    def violates(self, name: str) -> bool:
        """Return whether the present state breaks the `always` claim of that name."""
        return not self._reference.holds(self._property(name), self.state)

    def shows(self, name: str) -> bool:
        """Return whether the claim of that name is true in the present state."""
        return self._reference.holds(self._property(name), self.state)

    def stuck(self) -> bool:
        """Return whether no step but faults is possible."""
        return all(move.is_fault for move, _ in self._reference.successors(self.state))

    def loops_to(self, index: int) -> bool:
        """Return whether the present state is the one after step `index` (0: the initial)."""
        return self.state == self.states[index]

    def _property(self, name: str) -> Property:
        for item in self.world.properties:
            if item.name == name:
                return item
        raise LookupError(
            f"world {self.world.name} claims no {name!r}; it claims "
            + ", ".join(item.name for item in self.world.properties)
        )
