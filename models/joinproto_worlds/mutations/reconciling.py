"""Mutations of reconciliation: each rule Q1 to Q6 left out once.

Source: reconciliation, Q1 to Q6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.machine.tables import Table
from joinproto.reconcile.keeper import Intent, Keeper
from joinproto.reconcile.queue import Kind, Node, Queue, Situation, Target, Variant
from joinproto.reconcile.reading import Replica
from joinproto.reconcile.target import Wanted
from joinproto.reconcile.timers import Clock, Happens
from joinproto_worlds.mutations.mutation import Mutation, dropping, without

EVALUATE = "joinproto.reconcile.evaluate"
KEEPER = "joinproto.reconcile.keeper"
TABLES = "joinproto.reconcile.tables"

Tables = Mapping[Variant, Table[Any]]


def _largest(original: Callable[[Target, Variant], Wanted]) -> Callable[..., Wanted]:
    return lambda target, _variant: original(target, Variant.REAL)


def _put_off(original: Callable[[Clock, Happens, float], Clock]) -> Callable[..., Clock]:
    def hear(self: Clock, what: Happens, now: float) -> Clock:
        heard = original(self, what, now)
        return evolve(heard, looks_at=(now + self.pace.trigger_interval,))

    return hear


def _lost_at_once(original: Callable[..., bool]) -> Callable[..., bool]:
    def is_lost(situation: Situation, name: str, node: Node | None) -> bool:
        return original(situation, name, node) or node is None or not node.running

    return is_lost


def _drained_takes(_original: object) -> Callable[..., bool]:
    return lambda _situation, node: node.running


def _drops_first(tables: Tables) -> Tables:
    """Return the tables; ours drops who left before it adds."""
    ours = tables[Variant.OURS]
    drop = next(case for case in tables[Variant.SEED].cases if case.name == "drop a node that left")
    rest = list(without(ours, drop.name).cases)
    at = next(at for at, case in enumerate(rest) if case.name == "one more")
    return {**tables, Variant.OURS: evolve(ours, cases=(*rest[:at], drop, *rest[at:]))}


def _no_limit(_original: object) -> Callable[[Keeper, Intent], None]:
    return lambda _self, _intent: None


def _quorum_queues_only(kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    return {name: kind for name, kind in kinds.items() if kind is Kind.QUORUM}


def _as_listed(_original: object) -> Callable[..., Queue]:
    return lambda queue, _replicas, _running: queue


def _leader_or_list(original: Callable[..., Queue]) -> Callable[..., Queue]:
    def as_told(queue: Queue, replicas: tuple[Replica, ...], running: frozenset[str]) -> Queue:
        return original(queue, replicas, running) if any(one.leads for one in replicas) else queue

    return as_told


def _from_begin(original: Callable[..., bool]) -> Callable[..., bool]:
    def has_settled(self: Keeper, intent: Intent, now: float) -> bool:
        return original(self, evolve(intent, ended=intent.since), now)

    return has_settled


def _no_sync(_original: object) -> Callable[..., None]:
    return lambda _self, _name: None


RECONCILING = (
    Mutation.of("largest-counts", "joinproto.reconcile.target", "wanted", _largest),
    Mutation.of("put-off", "joinproto.reconcile.timers", "Clock.hear", _put_off),
    Mutation.of("lost-at-once", EVALUATE, "_is_lost", _lost_at_once),
    Mutation.of("drained-takes", EVALUATE, "_takes", _drained_takes),
    Mutation.of("drops-first", TABLES, "TABLES", _drops_first),
    Mutation.of(
        "next-at-once",
        TABLES,
        "TABLES",
        dropping("one catches up", "a change is under way", of=Variant.OURS),
    ),
    Mutation.of(
        "stays-listed",
        TABLES,
        "TABLES",
        dropping("drop a lost member", "one more for one that stays", of=Variant.OURS),
    ),
    Mutation.of("no-limit", KEEPER, "Keeper._busy", _no_limit),
    Mutation.of("quorum-queues-only", "joinproto.reconcile.reading", "KINDS", _quorum_queues_only),
    Mutation.of("settles-from-begin", KEEPER, "Keeper.has_settled", _from_begin),
    Mutation.of("unsynced", "joinproto.machine.world", "MachineWorld.sync", _no_sync),
    Mutation.of("list-decides", KEEPER, "_as_told", _as_listed),
    Mutation.of("without-leader", KEEPER, "_as_told", _leader_or_list),
)
"""In the order of the rules: Q1, Q2 twice, Q3, Q4 thrice, Q5, Q6; then the actions of a broker."""
