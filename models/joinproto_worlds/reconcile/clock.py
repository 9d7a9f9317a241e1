"""Worlds of the timer: the shipped `Clock`, with a tick as the unit of time.

Source: reconciliation, Q2, with the three defects of the shipped broker's timer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import always_each, eventually, sometimes_one
from joinproto.check.world import World
from joinproto.reconcile.queue import Variant
from joinproto.reconcile.timers import Clock, Happens, Timers
from joinproto_worlds.mutations.named import mutated

INTERVAL, TRIGGER = 3, 2


@frozen
class NodeView:
    """The observation of a node.  `looks`: its last step was a look; `timers`: its armed timers."""

    looks: bool
    timers: int


@define
class Node:
    """A node that hears events and looks at its queue when a timer fires.

    Times are relative to now, so that there are finitely many states.
    """

    clock: Clock
    mutant: str | None = None
    looks: bool = False

    @mutated
    def choices(self) -> Iterator[str]:
        if self.clock.next is None:
            yield "start"
        elif self.clock.next > 0:
            yield "tick"
        else:
            yield "look"
        if self.clock.next is not None:
            yield "hear of a node"

    @mutated
    def receive(self, event: Any) -> Any:
        match event:
            case "start":
                self.clock = self.clock.start(0)
            case "tick":
                nearer = tuple(at - 1 for at in self.clock.looks_at)
                self.clock = evolve(self.clock, looks_at=nearer)
            case "hear of a node":
                heard = self.clock.hear(Happens.NODE_DOWN, 0)
                if heard == self.clock:
                    return NOT_ENABLED
                self.clock = heard
            case "look":
                self.clock = self.clock.looked(0, changed=False)
            case _:
                return NOT_ENABLED
        self.looks = event == "look"
        return None

    def shows(self) -> NodeView:
        return NodeView(self.looks, len(self.clock.looks_at))


def build(
    members: int = 1,
    mutant: str | None = None,
    *,
    variant: str = "ours",
    claims: str = "looks",
) -> World:
    """Return the world.  `claims`: "looks", the node looks in the end; "one", one timer at most."""
    pace = Timers(interval=INTERVAL, trigger_interval=TRIGGER)
    claim = (
        eventually("it looks", lambda view: all(shown.looks for shown in view.up.values()))
        if claims == "looks"
        else always_each("one timer", lambda shown: shown.timers <= 1)
    )
    clock = Clock(variant=Variant(variant), pace=pace)
    return World(
        name="reconcile-clock",
        members={"a": partial(Node, clock, mutant)},
        properties=[claim, sometimes_one("it looks once", lambda shown: shown.looks)],
        about="when a queue is looked at, while nodes come and go",
    )
