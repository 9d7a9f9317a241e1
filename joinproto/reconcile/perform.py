"""Performing the effects of a round: the only place where an effect becomes an action.

`reconcile run`, the searched worlds and the random runs implement the ports.

Source: reconciliation, Q4; `joinproto/machine/step.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar, assert_never

from joinproto.reconcile.keeper import Intent, Keeper, Verdict
from joinproto.reconcile.machine import (
    Ask,
    Begin,
    Effect,
    Keep,
    TellChange,
    TellProblem,
    TellRead,
    TellVerdict,
)
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key

W_co = TypeVar("W_co", covariant=True)
W = TypeVar("W")


class Ports(Protocol[W_co]):
    """A method for each effect; the host waits for its result before the next effect."""

    def ask(self, key: Key, kind: Kind, node: str) -> Iterable[W_co] | None: ...
    def keep(self, intents: Mapping[Key, Intent]) -> Iterable[W_co] | None: ...
    def begin(self, intent: Intent) -> Iterable[W_co] | None: ...
    def tell_read(self, keeper: Keeper, now: float) -> Iterable[W_co] | None: ...
    def tell_verdict(
        self, key: Key, verdict: Verdict, *, applies: bool
    ) -> Iterable[W_co] | None: ...
    def tell_change(self, intent: Intent, ended: str) -> Iterable[W_co] | None: ...
    def tell_problem(self, what: str, why: str, key: Key | None) -> Iterable[W_co] | None: ...


def perform(effect: Effect, ports: Ports[W]) -> Iterable[W] | None:
    """Begin one effect; return the work to wait for before the next one."""
    match effect:
        case Ask(key, kind, node):
            return ports.ask(key, kind, node)
        case Keep(intents):
            return ports.keep(intents)
        case Begin(intent):
            return ports.begin(intent)
        case TellRead(keeper, now):
            return ports.tell_read(keeper, now)
        case TellVerdict(key, verdict, applies):
            return ports.tell_verdict(key, verdict, applies=applies)
        case TellChange(intent, ended):
            return ports.tell_change(intent, ended)
        case TellProblem(what, why, key):
            return ports.tell_problem(what, why, key)
        case never:
            assert_never(never)
