"""Performing a flow's effects: the only place where an effect becomes an action.

A flow takes the place of a step function: it gets the outcome of its last effect, and yields the
next effect, until it returns its result.  Clients, questions and tests implement the ports.

Source: discovery, D1; `joinproto/machine/step.py`.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, assert_never

from joinproto.discovery.exchange import Effect, Event, Flow, Lookup, Request, Wait

W_co = TypeVar("W_co", covariant=True)
W = TypeVar("W")
R = TypeVar("R")


class Ports(Protocol[W_co]):
    """The ports for effects; each returns its result, or an awaitable of it."""

    def request(self, request: Request) -> W_co: ...
    def wait(self, seconds: float) -> W_co: ...
    def look(self, lookup: Lookup) -> W_co: ...


def perform(effect: Effect, ports: Ports[W]) -> W:
    """Perform one effect."""
    match effect:
        case Request():
            return ports.request(effect)
        case Wait(seconds):
            return ports.wait(seconds)
        case Lookup():
            return ports.look(effect)
        case never:
            assert_never(never)


def played(flow: Flow[R], ports: Ports[Event]) -> R:
    """Return the result of a flow whose ports answer at once."""
    try:
        effect = next(flow)
        while True:
            effect = flow.send(perform(effect, ports))
    except StopIteration as end:
        result: R = end.value
        return result
