"""Performing the effects of a broker: the only place where an effect becomes an action.

The process, the searched worlds and the tests implement the ports, so the code between event and
action is the same in all of them.

Source: hot standby, H2, H4; `joinproto/machine/step.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, assert_never

from joinproto.standby.broker import Mark
from joinproto.standby.events import (
    Answer,
    Confirm,
    Effect,
    Keep,
    KeepMark,
    KeepView,
    Leave,
    Make,
    Remove,
    Send,
    Serve,
    Turn,
    Write,
    WriteView,
)
from joinproto.standby.messages import Change, Content, View, WiringItem

Task_co = TypeVar("Task_co", covariant=True)


class Ports(Protocol[Task_co]):
    """A method for each effect; `events.py` explains the effects.

    A method does at once the part of its work that must keep the order of the effects, and returns
    the rest.  A process, for example, takes over an effect's data at once and waits for its disk
    later.
    """

    def send(self, to: str, content: Content) -> Task_co: ...
    def answer(self, answer: Answer) -> Task_co: ...
    def keep_view(self, view: View) -> Task_co: ...
    def keep_mark(self, mark: Mark) -> Task_co: ...
    def write_view(self, view: View) -> Task_co: ...
    def write(self, token: int, changes: Sequence[Change]) -> Task_co: ...
    def keep(self, changes: Sequence[Change]) -> Task_co: ...
    def make(self, thing: WiringItem) -> Task_co: ...
    def remove(self, thing: WiringItem) -> Task_co: ...
    def confirm(self, token: int) -> Task_co: ...
    def serve(self, generation: int) -> Task_co: ...
    def turn(self, why: str) -> Task_co: ...
    def leave(self, broker: str, why: str) -> Task_co: ...


def perform(effect: Effect, ports: Ports[Task_co]) -> Task_co:
    """Perform one effect; return the rest of its work."""
    match effect:
        case Send(to, content):
            return ports.send(to, content)
        case Answer():
            return ports.answer(effect)
        case KeepView(view):
            return ports.keep_view(view)
        case KeepMark(mark):
            return ports.keep_mark(mark)
        case WriteView(view):
            return ports.write_view(view)
        case Write(token, changes):
            return ports.write(token, changes)
        case Keep(changes):
            return ports.keep(changes)
        case Make(thing):
            return ports.make(thing)
        case Remove(thing):
            return ports.remove(thing)
        case Confirm(token):
            return ports.confirm(token)
        case Serve(generation):
            return ports.serve(generation)
        case Turn(why):
            return ports.turn(why)
        case Leave(broker, why):
            return ports.leave(broker, why)
        case never:
            assert_never(never)
