"""Performing the effects of a step: the actions of a host, in the only allowed order.

Nodes as processes, stories, worlds and random runs all use this code, so the searched code is the
shipped code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar, assert_never

from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import (
    Answer,
    Arm,
    BootBroker,
    BootNothing,
    Content,
    Effect,
    Forget,
    Keep,
    KeepMembers,
    Members,
    Off,
    Reply,
    Send,
    StopBroker,
    TellService,
    Wipe,
)

W_co = TypeVar("W_co", covariant=True)
W = TypeVar("W")


class Ports(Protocol[W_co]):
    """A method for each effect.  The caller must wait for the result of each call, in order.

    `keep`, `keep_members`: the data are durable when the call returns, or when the work that it
    returned is done.  `boot`, `boot_nothing`, `forget`: the call only begins the work; the result
    of a boot is an event.  A call that raises ends the node: later effects must not happen.
    """

    def send(self, to: str, content: Content) -> Iterable[W_co] | None: ...
    def tell_service(
        self, to: str, number: int, version: int, *, runs: bool
    ) -> Iterable[W_co] | None: ...
    def keep(self, held: Held, identity: str) -> Iterable[W_co] | None: ...
    def keep_members(self, members: Members) -> Iterable[W_co] | None: ...
    def wipe(self) -> Iterable[W_co] | None: ...
    def stop_broker(self, *, leaves: bool) -> Iterable[W_co] | None: ...
    def boot(self, boots: BootBroker) -> Iterable[W_co] | None: ...
    def boot_nothing(self) -> Iterable[W_co] | None: ...
    def forget(self, nodes: frozenset[str]) -> Iterable[W_co] | None: ...
    def arm(self, seconds: int | None, number: int) -> Iterable[W_co] | None: ...
    def answer(self, reply: Reply, why: str) -> Iterable[W_co] | None: ...
    def off(self, why: str, *, fails: bool) -> Iterable[W_co] | None: ...


def perform(effect: Effect, ports: Ports[W]) -> Iterable[W] | None:
    """Begin one effect; return the work to wait for before the next one."""
    match effect:
        case Send(to, content):
            return ports.send(to, content)
        case TellService(to, number, version, runs):
            return ports.tell_service(to, number, version, runs=runs)
        case Keep(held, identity):
            return ports.keep(held, identity)
        case KeepMembers(members):
            return ports.keep_members(members)
        case Wipe():
            return ports.wipe()
        case StopBroker(leaves):
            return ports.stop_broker(leaves=leaves)
        case BootBroker():
            return ports.boot(effect)
        case BootNothing():
            return ports.boot_nothing()
        case Forget(nodes):
            return ports.forget(nodes)
        case Arm(seconds, number):
            return ports.arm(seconds, number)
        case Answer(reply, why):
            return ports.answer(reply, why)
        case Off(why, fails):
            return ports.off(why, fails=fails)
    assert_never(effect)
