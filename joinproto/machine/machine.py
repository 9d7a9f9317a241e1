"""A state machine made of decision tables, declared to `transitions`.

An `Arrow` says which table chooses the next phase, on which trigger, and from which phases.  Every
case becomes one transition with its condition; `declared` lets `transitions` try the cases in
order.  A member decides many times a second, so `step` compiles the same arrows to a function for
each trigger and phase, at the first use; a test checks that both give the same answer.  One machine
serves all members: each call gets the phase of a member, and the machine does not keep the phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from attrs import define, frozen

from joinproto.errors import MisuseError
from joinproto.machine.compiled import holds, reader
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition

if TYPE_CHECKING:
    from transitions import EventData, Machine

P = TypeVar("P", bound=Enum)


class HasPhase(Protocol[P]):
    """Any object with a phase; the machine changes only the phase."""

    phase: P


@frozen
class Arrow(Generic[P]):
    """The table that chooses the next phase, on `trigger` in a phase of `sources`.

    `when`: the condition under which it chooses.
    """

    trigger: str
    sources: tuple[P, ...]
    table: Table[P]
    when: Condition = ALWAYS


@frozen
class TakenCase(Generic[P]):
    """The case that a member takes, and the table that has it."""

    table: Table[P]
    case: Case[P]


Reader = Callable[[Sequence[object], int], TakenCase[P]]
"""A function from the members, and the place of one of them, to the case that this member takes."""


@define
class _Question(Generic[P]):
    """The arguments that `transitions` passes on with one trigger, and the answer that its
    callbacks set.
    """

    members: Sequence[object]
    me: int
    answer: TakenCase[P] | None = None


class StateMachine(Generic[P]):
    """Phases, and the arrows between them; see the docstring of this module."""

    def __init__(self, name: str, phases: type[P], arrows: Sequence[Arrow[P]]) -> None:
        self.name = name
        self.phases = phases
        self.arrows = tuple(arrows)
        self._possible = self._without_gaps()
        self._readers: dict[tuple[str, str], Reader[P]] = {}

    @cached_property
    def as_transitions(self) -> Machine:
        """This machine as a `transitions.Machine` without a model, for hosts to inspect.

        `get_triggers(phase)` and `get_transitions(...)` list the possible transitions; a model that
        is added must have `phase`.  The machine is made at the first use.
        """
        # Imported here, because the steps of members do not need it.
        from transitions import Machine

        machine = Machine(
            model=None,
            states=self.phases,
            initial=next(iter(self.phases)),
            auto_transitions=False,
            send_event=True,
            model_attribute="phase",
            name=self.name,
        )
        for arrow in self.arrows:
            for case in arrow.table.cases:
                machine.add_transition(
                    arrow.trigger,
                    list(arrow.sources),
                    case.outcome,
                    conditions=[_condition(arrow.when), _condition(case.condition)],
                    before=_remember(TakenCase(arrow.table, case)),
                )
        return machine

    def can(self, phase: P, trigger: str) -> bool:
        """Return whether a table answers `trigger` in `phase`."""
        return (trigger, phase) in self._possible

    def step(
        self, model: HasPhase[P], trigger: str, members: Sequence[object], me: int
    ) -> TakenCase[P]:
        """Move `model` to its next phase and return the case that was taken."""
        answer = self.taken(model.phase, trigger, members, me)
        model.phase = answer.case.outcome
        return answer

    def taken(self, phase: P, trigger: str, members: Sequence[object], me: int) -> TakenCase[P]:
        """Return the case that `step` takes from this phase."""
        # An enum's hash and `name` would each cost a call of a Python function; `_name_` does not.
        read = self._readers.get((trigger, phase._name_))
        return (read or self._compile(trigger, phase))(members, me)

    def declared(
        self, model: HasPhase[P], trigger: str, members: Sequence[object], me: int
    ) -> TakenCase[P]:
        """Do the same as `step` with the library `transitions`: slowly, for comparison."""
        question: _Question[P] = _Question(members, me)
        self.as_transitions.events[trigger].trigger(model, question)
        # Some case always holds: `_without_gaps` has checked this for each trigger and phase.
        return cast("TakenCase[P]", question.answer)

    def _compile(self, trigger: str, phase: P) -> Reader[P]:
        if not self.can(phase, trigger):
            possible = [one.value for known, one in self._possible if known == trigger]
            raise MisuseError(
                f"{self.name}: {trigger!r} cannot happen in the phase {phase.value!r}",
                next=f"it can happen in: {', '.join(possible) or 'no phase'}",
            )
        arrows = [it for it in self.arrows if it.trigger == trigger and phase in it.sources]
        read: Reader[P] = reader(
            (it.when, [(case.condition, TakenCase(it.table, case)) for case in it.table.cases])
            for it in arrows
        )
        for same in set.intersection(*(set(it.sources) for it in arrows)):
            if [it for it in self.arrows if it.trigger == trigger and same in it.sources] == arrows:
                self._readers[trigger, same._name_] = read
        return read

    def _without_gaps(self) -> tuple[tuple[str, P], ...]:
        """Return the pairs of trigger and phase that have a table.

        Raises `MisuseError` if the last table of a pair has a `when`, or an earlier one has none.
        """
        last: dict[tuple[str, P], Arrow[P]] = {}
        for arrow in self.arrows:
            for phase in arrow.sources:
                before = last.get((arrow.trigger, phase))
                if before is not None and before.when == ALWAYS:
                    raise MisuseError(
                        f"{self.name}: table {arrow.table.name} is never reached"
                        f" from {phase.value!r} on {arrow.trigger!r}",
                        next=f"table {before.table.name} always answers: give its arrow a `when`",
                    )
                last[arrow.trigger, phase] = arrow
        for (trigger, phase), arrow in last.items():
            if arrow.when != ALWAYS:
                raise MisuseError(
                    f"{self.name}: no table always applies on {trigger!r} from {phase.value!r}",
                    next=f"remove `when` from the arrow of table {arrow.table.name}",
                )
        return tuple(last)


def _condition(condition: Condition) -> Callable[[EventData], bool]:
    def check(event: EventData) -> bool:
        question = cast("_Question[Enum]", next(iter(event.args)))
        return holds(condition, question.members, question.me)

    return check


def _remember(step: TakenCase[P]) -> Callable[[EventData], None]:
    def remember(event: EventData) -> None:
        cast("_Question[P]", next(iter(event.args))).answer = step

    return remember
