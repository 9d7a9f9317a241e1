"""Linearizability: the answers to clients could have come from one copy of the data.

    orders = linearizable(register, initial=0)
    World(..., monitor=orders.monitor, properties=[orders.claim])

Members report the calls of clients and their answers: `Record(Call(client, operation))` when a
client calls, `Record(Return(client, answer))` when it gets the answer.  An operation takes effect
at one moment between the two.  A call that is never answered may take effect at any time later, or
never.

The monitor keeps every order of effects that explains the answers so far.  Effects are put in order
only when an answer requires it, because until then every order is still possible.

Source: Herlihy and Wing 1990; the search is Wing and Gong's (1993), done while the history grows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from attrs import evolve, field, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, always_monitor

Apply = Callable[[Any, Any], tuple[Any, Any]]
"""State and operation to the next state and the answer; a pure function of values."""


@frozen
class Call:
    """A client calls an operation.  A client has at most one open call."""

    client: Hashable
    operation: Hashable


@frozen
class Return:
    """A client gets the answer to its call."""

    client: Hashable
    answer: Hashable


@frozen
class Order:
    """One order of the effects so far.

    `state`: the data after the effects.  `open`: calls that have not taken effect yet.  `answers`:
    answers of calls that took effect, which their clients have not received yet.
    """

    state: Hashable
    open: frozenset[Call] = frozenset()
    answers: frozenset[Return] = frozenset()

    def effects(self, apply: Apply) -> Iterable[Order]:
        """Yield this order with one more effect, for each open call."""
        for call in self.open:
            state, answer = apply(self.state, call.operation)
            answered = Return(call.client, answer)
            yield Order(state, self.open - {call}, self.answers | {answered})


@frozen
class Explained:
    """The observation of the monitor.  `states`: possible states of the data; empty if no order
    explains the history.
    """

    states: frozenset[Hashable]
    open: frozenset[Call]


class Orders:
    """The monitor: it keeps every order that explains the clients' answers.

    A subclass defines `apply`.
    """

    apply: Apply

    def __init__(self, initial: Hashable) -> None:
        self.orders = frozenset({Order(initial)})
        self.open: frozenset[Call] = frozenset()

    def receive(self, event: object) -> object:
        match event:
            case Call(client):
                if any(call.client == client for call in self.open):
                    raise ModelProblem(
                        f"client {client!r} calls {event.operation!r}, and its last call is open",
                        next="record a Return first, or give the second call another client",
                    )
                self.open |= {event}
                self.orders = frozenset(evolve(one, open=one.open | {event}) for one in self.orders)
            case Return(client):
                calls = {call for call in self.open if call.client == client}
                if not calls:
                    raise ModelProblem(
                        f"client {client!r} gets the answer {event.answer!r}, and has no open call",
                        next="record its Call first",
                    )
                self.open -= calls
                self.orders = frozenset(
                    evolve(one, answers=one.answers - {event})
                    for one in self._after_effects()
                    if event in one.answers
                )
            case _:
                return NOT_ENABLED
        return None

    def _after_effects(self) -> set[Order]:
        """Return every order with any number of further effects."""
        found, new = set(self.orders), set(self.orders)
        while new:
            new = {later for one in new for later in one.effects(self.apply)} - found
            found |= new
        return found

    def shows(self) -> Explained:
        return Explained(frozenset(one.state for one in self.orders), self.open)


@frozen
class Linearizable:
    """The `monitor` and the `claim` for a `World` whose data begin as `initial`."""

    apply: Apply
    initial: Hashable = None
    name: str = "linearizable"
    claim: Property = field(init=False, eq=False)
    _kind: type[Orders] = field(init=False, eq=False, repr=False)

    @claim.default
    def _claimed(self) -> Property:
        return always_monitor(self.name, lambda shown: shown.states)

    @_kind.default
    def _of_class(self) -> type[Orders]:
        # `apply` is an attribute of the class: it never changes, so it is not part of a state.
        return type("Orders", (Orders,), {"apply": staticmethod(self.apply)})

    def monitor(self) -> Orders:
        """Return the monitor at the beginning of a run."""
        return self._kind(self.initial)


def linearizable(
    apply: Apply, initial: Hashable = None, *, name: str = "linearizable"
) -> Linearizable:
    """Return monitor and claim: the answers could have come from one copy of the data.

    Args:
        apply: state and operation to the next state and the answer, such as `register`; pure, and
            of values that can be hashed.
        initial: the state at the beginning.  States and answers are compared by `==`.
        name: the claim's name.

    c open calls have at most 2.7 * c! orders for each explanation, so only a few clients are
    feasible.
    """
    return Linearizable(apply, initial, name)


def register(state: Hashable, operation: Hashable) -> tuple[Hashable, Hashable]:
    """Return the next state and the answer of a register.

    `operation`: `("read",)`, `("write", value)` or `("compare and set", old, new)`.

    A read is answered with the value, a write with None, a compare and set with True if it changed
    the value and False if not.
    """
    match operation:
        case ("read",):
            return state, state
        case ("write", value):
            return value, None
        case ("compare and set", old, new):
            return (new, True) if state == old else (state, False)
    raise ModelProblem(
        f"{operation!r} is not an operation of a register",
        next='expected ("read",), ("write", value) or ("compare and set", old, new)',
    )
