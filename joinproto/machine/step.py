"""The form of a step in all systems: `step(state, event)` returns the next state and effects.

A machine only decides.  Its host gives it each event, keeps the new state, and performs the effects
in their order (`performing`): each effect is done before the next one begins.  So a crash may come
between any two effects, and a world tries all of these crashes.

A system names its events and its effects as union types, and has one function that matches on the
effects and calls a port for each.  The process and the worlds implement the ports; the code between
event and port is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

from joinproto.machine.values import evolve

State = TypeVar("State")
Effect = TypeVar("Effect")
Work = TypeVar("Work")


@frozen
class Step(Generic[State, Effect]):
    """The next state, and the effects that its host performs, in this order."""

    state: State
    effects: tuple[Effect, ...] = ()

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _):
            # Systems call `Step[State, Effect](...)` for each event; through typing's alias that
            # would cost ten times as much as making the value.
            return cls

    def then(self, *effects: Effect, **changes: Any) -> Step[State, Effect]:
        """Return this step with `effects` at its end, and these fields of its state changed."""
        state: Any = self.state
        return Step(evolve(state, **changes) if changes else state, (*self.effects, *effects))

    def and_then(self, later: Step[State, Effect]) -> Step[State, Effect]:
        """Return this step and `later`, a step from the state of this one, as one step."""
        return Step(later.state, (*self.effects, *later.effects))


def performing(
    effects: Iterable[Effect], perform: Callable[[Effect], Iterable[Work] | None]
) -> Iterator[Work]:
    """Yield blocking work while `perform` performs these effects in their order.

    The caller must do each piece of work before it asks for the next.  No effect begins before the
    first piece is asked for.  After work that failed, the caller must ask for no more, because the
    later effects must not happen.  `perform`: begins one effect; returns the work to wait for, if
    any.
    """
    for effect in effects:
        yield from perform(effect) or ()
