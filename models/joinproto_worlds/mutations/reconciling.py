"""Mutations of reconciliation: at least one for each rule, Q1 to Q6.

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
from joinproto_worlds.mutations.mutation import Mutation, around, dropping, instead, without

EVALUATE = "joinproto.reconcile.evaluate"
KEEPER = "joinproto.reconcile.keeper"
TABLES = "joinproto.reconcile.tables"

Tables = Mapping[Variant, Table[Any]]


@around
def _largest(original: Callable[..., Wanted], target: Target, _variant: Variant) -> Wanted:
    return original(target, Variant.REAL)


@around
def _put_off(original: Callable[..., Clock], self: Clock, what: Happens, now: float) -> Clock:
    heard = original(self, what, now)
    return evolve(heard, looks_at=(now + self.pace.trigger_interval,))


@around
def _lost_at_once(
    original: Callable[..., bool], situation: Situation, name: str, node: Node | None
) -> bool:
    return original(situation, name, node) or node is None or not node.running


def _drops_first(tables: Tables) -> Tables:
    """Return the tables, where ours drops a replica that left before it adds another."""
    ours = tables[Variant.OURS]
    drop = next(case for case in tables[Variant.SEED].cases if case.name == "drop a node that left")
    rest = list(without(ours, drop.name).cases)
    at = next(at for at, case in enumerate(rest) if case.name == "one more")
    return {**tables, Variant.OURS: evolve(ours, cases=(*rest[:at], drop, *rest[at:]))}


def _quorum_queues_only(kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    return {name: kind for name, kind in kinds.items() if kind is Kind.QUORUM}


@around
def _leader_or_list(
    original: Callable[..., Queue], queue: Queue, replicas: tuple[Replica, ...], *more: Any
) -> Queue:
    return original(queue, replicas, *more) if any(one.leads for one in replicas) else queue


@around
def _from_begin(original: Callable[..., bool], self: Keeper, intent: Intent, now: float) -> bool:
    return original(self, evolve(intent, ended_at=intent.since), now)


RECONCILING = (
    Mutation.of("largest-counts", "joinproto.reconcile.target", "wanted", _largest),
    Mutation.of("put-off", "joinproto.reconcile.timers", "Clock.hear", _put_off),
    Mutation.of("lost-at-once", EVALUATE, "_is_lost", _lost_at_once),
    Mutation.of("drained-takes", EVALUATE, "_takes", instead(lambda _, node: node.running)),
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
    Mutation.of("no-limit", KEEPER, "Keeper._busy", instead(lambda *_: None)),
    Mutation.of("quorum-queues-only", "joinproto.reconcile.reading", "KINDS", _quorum_queues_only),
    Mutation.of("settles-from-begin", KEEPER, "Keeper.has_settled", _from_begin),
    Mutation.of(
        "unsynced", "joinproto.machine.world", "MachineWorld.sync", instead(lambda *_: None)
    ),
    Mutation.of("list-decides", KEEPER, "_as_reported", instead(lambda queue, *_: queue)),
    Mutation.of("without-leader", KEEPER, "_as_reported", _leader_or_list),
)
"""In the order of the rules: Q1, two of Q2, Q3, three of Q4, Q5, Q6; then mutations of the keeper's
record and of its facts about a queue."""
