"""The worlds of reconciliation in the relations of their layer: logs, memberships, running nodes.

An entry is the log that ends with it.  The log does not show whether an evaluation or an operator
made a change.  If the operator of a world may make no change, all changes count as evaluations;
otherwise all count as made by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from attrs import frozen

from joinproto.check.freeze import thaw
from joinproto.check.reference import State
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto_claims import reconcile
from joinproto_claims.reconcile import ENOUGH, ENTRY, LAYER, MAJORITY, NODE, TERM
from joinproto_worlds.reconcile.raft import Log
from joinproto_worlds.reconcile.repair import OPERATOR, TARGET

n, e, f, q, k = (reconcile.n, reconcile.e, reconcile.f, reconcile.q, reconcile.k)
Names = frozenset[str]


@frozen
class ReconcileMapping(RefinementMapping):
    """A majority is a smallest one; an `ENOUGH` is a set of as many nodes as are wanted."""

    layer: Layer = LAYER
    history: frozenset[Relation] = frozenset(
        {reconcile.written, reconcile.committed, reconcile.added, reconcile.dropped}
    )

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        operator: Any = self.values_of(state, OPERATOR)
        logs = [thaw(self.values_of(state, name)["log"]) for name in self._replicas]
        written = {entry for log in logs for entry in _entries(log)}
        up = {
            name
            for name, local in zip(self.reference.codes.names, state.locals, strict=True)
            if local.up and name in operator["nodes"]
        }
        sizes = {entry: len(_members(entry)) for entry in written}
        changes = [] if self._by_hand else [entry for entry in written if len(entry) > 1]
        committed = thaw(self.monitor_of(state)["log"]) or _first(logs)
        return {
            reconcile.written: frozenset((entry,) for entry in written),
            reconcile.committed: frozenset((entry,) for entry in _entries(committed)),
            reconcile.added: frozenset(
                (one[:-1], one) for one in changes if sizes[one] > sizes[one[:-1]]
            ),
            reconcile.dropped: frozenset(
                (one[:-1], one) for one in changes if sizes[one] < sizes[one[:-1]]
            ),
            reconcile.runs: frozenset((name,) for name in up),
            reconcile.lost: frozenset((name,) for name in self._replicas if name not in up),
        }

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        written: Any = self.shown(pictures, reconcile.written)
        entries = sorted({row[0] for row in written}, key=len)
        majorities = [
            (members, frozenset(most))
            for members in {_members(entry) for entry in entries}
            for most in combinations(sorted(members), len(members) // 2 + 1)
        ]
        groups = [frozenset(group) for group in combinations(self._replicas, TARGET)]
        elements: dict[Sort, tuple[Element, ...]] = {
            NODE: self._replicas,
            ENTRY: tuple(entries),
            TERM: tuple(sorted({entry[-1].term for entry in entries})),
            MAJORITY: tuple(sorted(majorities, key=repr)),
            ENOUGH: tuple(groups),
        }
        pairs = list(product(entries, repeat=2))
        rigid: dict[Relation, Rows] = {
            reconcile.upto: frozenset((a, b) for a, b in pairs if a == b[: len(a)]),
            reconcile.behind: frozenset((a, b) for a, b in pairs if a == b[:-1]),
            reconcile.has: frozenset((a, name) for a in entries for name in _members(a)),
            reconcile.alike: frozenset((a, b) for a, b in pairs if _members(a) == _members(b)),
            reconcile.near: frozenset(
                (a, b) for a, b in pairs if len(_members(a) ^ _members(b)) <= 1
            ),
            reconcile.one_more: frozenset(
                (a, b, name)
                for a, b in pairs
                for name in _members(b) - _members(a)
                if _members(b) == _members(a) | {name}
            ),
            reconcile.within: frozenset((name, one) for one in majorities for name in one[1]),
            reconcile.majority_of: frozenset(
                (one, a) for one in majorities for a in entries if _members(a) == one[0]
            ),
            reconcile.even: frozenset((a,) for a in entries if len(_members(a)) % 2 == 0),
            reconcile.of: frozenset((name, group) for group in groups for name in group),
        }
        return elements, rigid, {reconcile.term: {entry: entry[-1].term for entry in entries}}

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        new = goal.since(now)
        for (entry,) in sorted(new(reconcile.written), key=lambda row: len(row[0])):  # type: ignore[arg-type]  # an entry is a log
            yield from self._changes(now, goal, entry)
        for (entry,) in sorted(new(reconcile.committed), key=lambda row: -len(row[0])):  # type: ignore[arg-type]  # the same
            yield "commit", {f: entry}
        for relation, step in ((reconcile.runs, "run"), (reconcile.lost, "lose")):
            for (node,) in new(relation):
                yield step, {n: node}
        for (node,) in now.rows[reconcile.runs] - goal.rows[reconcile.runs]:
            yield "stop", {n: node}

    def _changes(self, now: Structure, goal: Structure, entry: Any) -> Iterator[tuple[str, Env]]:
        pair = {e: entry[:-1], f: entry}
        yield "elect", pair
        for relation, step in ((reconcile.added, "add"), (reconcile.dropped, "drop")):
            if (entry[:-1], entry) in goal.rows[relation]:
                majorities = [m for m in now.elements[MAJORITY] if m[0] == _members(entry[:-1])]  # type: ignore[index]  # a pair
                (node,) = _members(entry) ^ _members(entry[:-1]) if _differ(entry) == 1 else ("",)
                groups = now.elements[ENOUGH] if step == "drop" else (None,)
                for majority, group in product(majorities, groups):
                    yield step, {**pair, n: node, q: majority, k: group}
        yield "change by hand", pair

    @property
    def _replicas(self) -> tuple[str, ...]:
        return tuple(name for name in self.reference.codes.names if name != OPERATOR)

    @property
    def _by_hand(self) -> bool:
        operator: Any = self.reference.world.members[OPERATOR]()
        return bool(operator.adds or operator.removes)


def _entries(log: Log) -> Iterator[Log]:
    for length in range(1, len(log) + 1):
        yield log[:length]


def _members(entry: Log) -> Names:
    return entry[-1].members


def _differ(entry: Log) -> int:
    return len(_members(entry) ^ _members(entry[:-1]))


def _first(logs: list[Log]) -> Log:
    """Return the first entry, which is committed even if the monitor has no log yet."""
    return next(log[:1] for log in logs if log)
