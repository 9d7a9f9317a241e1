"""Worlds in which a queue is repaired: the shipped `evaluate` in a group that may lose members.

Source: reconciliation, Q1 to Q4; scenarios One, Two and Three of the design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.queue import Node, Placing, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import Action
from models.events import NOT_ENABLED
from models.faults import Faults
from models.local import Offline
from models.properties import Property, always, always_monitor, always_possible, sometimes
from models.view import View
from models.world import Together, World
from models.worlds.reconcile.raft import (
    Change,
    Committed,
    Copied,
    Copy,
    Entry,
    Granted,
    Replica,
    Shown,
    Vote,
)

OPERATOR = "operator"
FIRST = frozenset("abc")
TARGET = 3


@frozen
class Office:
    """What the operator shows: the nodes of the cluster, and how often one may still add."""

    nodes: frozenset[str]
    adds: int
    removes: int
    wipes: int


@define
class Operator:
    """Forgets nodes that do not run; adds and removes replicas by hand."""

    nodes: frozenset[str]
    adds: int
    removes: int
    forgets: int
    wipes: int

    def receive(self, event: Any) -> Any:
        match event:
            case ("forget", name) if self.forgets and name in self.nodes:
                self.nodes -= {name}
                self.forgets -= 1
                return None
            case "add" if self.adds:
                self.adds -= 1
                return None
            case "remove" if self.removes:
                self.removes -= 1
                return None
            case "wipe" if self.wipes:
                self.wipes -= 1
                return None
        return NOT_ENABLED

    def shows(self) -> Office:
        return Office(self.nodes, self.adds, self.removes, self.wipes)


def build(
    members: int = 5,
    crashes: int = 1,
    mutant: str | None = None,
    *,
    variant: str = "ours",
    terms: int = 2,
    first: str = "abc",
    adds: int = 0,
    removes: int = 0,
    forgets: int = 0,
    wipes: int = 0,
    restarts: bool = False,
    auto_remove: bool | None = None,
) -> World:
    """A queue on the nodes `first` in a cluster of `members` (3 to 5); a leads at first.

    `terms`: elections stop there.  `adds`, `removes`, `forgets`: what the operator may do by
    hand, and how often; `wipes`: disks that are lost while their node is down.
    """
    nodes = frozenset("abcde"[:members])
    rules = Variant(variant)
    settings = Settings(auto_remove=auto_remove, placement=Placing.LEAST_LOADED)
    replicas: dict[str, Callable[[], Any]] = {
        name: partial(
            Replica,
            name,
            (Entry(1, frozenset(first)),) if name in first else (),
            terms,
            name == "a",
            mutant,
        )
        for name in sorted(nodes)
    }
    return World(
        name="reconcile-repair",
        members={
            **replicas,
            OPERATOR: partial(Operator, nodes, adds, removes, forgets, wipes),
        },
        beside=(OPERATOR,),
        faults=Faults(crashes=crashes, restarts=restarts, spared=frozenset({OPERATOR})),
        monitor=Committed,
        together=partial(steps, rules, settings),
        properties=list(
            claims(rules, terms, adds=adds, removes=removes, forgets=forgets, crashes=crashes)
        ),
        about="a replica is lost and replaced; nothing that was committed is lost",
    )


def steps(variant: Variant, settings: Settings, view: View) -> Iterator[Together]:
    """Yield exchanges of replicas, evaluations by leaders, deeds of the operator."""
    office: Office = view[OPERATOR]
    replicas = {name: shown for name, shown in view.up.items() if name != OPERATOR}
    for name, shown in replicas.items():
        if shown.role == "candidate":
            for voter in sorted(shown.members & replicas.keys() - shown.votes - {name}):
                asked = Vote(name, shown.term, shown.last)
                yield Together("votes", {voter: asked, name: Granted(voter)}, f"{voter} for {name}")
        if shown.leads:
            for other in sorted(shown.members & replicas.keys() - shown.kept - {name}):
                copy = Copy(shown.term, shown.log, shown.committed)
                yield Together("copies", {other: copy, name: Copied(other)}, f"{name} to {other}")
            yield from _evaluations(variant, settings, office, replicas, shown)
            if office.adds:
                for other in sorted(office.nodes & replicas.keys() - shown.members):
                    change = Change(more=frozenset({other}))
                    yield Together("adds by hand", {name: change, OPERATOR: "add"}, other)
            if office.removes:
                for other in sorted(shown.members - {name}):
                    change = Change(fewer=frozenset({other}))
                    yield Together("removes by hand", {name: change, OPERATOR: "remove"}, other)
    for name in sorted(office.nodes - replicas.keys()):
        if office.wipes:
            events = {name: Offline("wipe"), OPERATOR: "wipe"}
            yield Together("loses its disk", events, name, fair=False, fault=True)
        yield Together("forgets", {OPERATOR: ("forget", name)}, name, fair=False, fault=True)


def _evaluations(
    variant: Variant,
    settings: Settings,
    office: Office,
    replicas: dict[str, Any],
    leader: Shown,
) -> Iterator[Together]:
    """What the leader may find: who is down may be so for a moment, or for too long."""
    queue = Queue(
        members=tuple(sorted(leader.members)),
        leader=leader.name,
        target=Target(configuration=TARGET),
        changing=None if leader.permits else "the last one",
        behind=tuple(sorted(leader.members - leader.kept - {leader.name})),
        away=dict.fromkeys(leader.members - replicas.keys(), settings.failure_interval),
    )
    nodes = tuple(Node(name=name, running=name in replicas) for name in sorted(office.nodes))
    for dice in range(len(nodes) if variant is Variant.REAL else 1):
        asked = Situation(queue=queue, nodes=nodes, settings=settings, variant=variant, dice=dice)
        found = evaluate(asked)
        if not found.nodes:
            return
        which = frozenset(found.nodes)
        is_more = found.action is Action.ADD
        change = Change(more=which) if is_more else Change(fewer=which)
        said = f"{found.action.value} {' and '.join(found.nodes)} ({found.rule} {found.case.name})"
        yield Together("evaluates", {leader.name: change}, said)


def claims(
    variant: Variant, terms: int, *, adds: int, removes: int, forgets: int, crashes: int
) -> Iterator[Property]:
    """Yield what shall hold, and beside it what shall happen."""
    yield always_monitor("what is committed stays", lambda shown: not shown.parted)
    yield always("one change at a time", _one_change)
    if not removes:
        yield always("never below the minimum", _enough)
    if crashes and variant is not Variant.REAL:
        yield sometimes("one who is down is replaced", _replaced)
        yield always_possible("three run, or none leads", partial(_repaired, terms))
    if forgets:
        yield sometimes("scenario One: a, b and d", lambda view: _committed(view) == set("abd"))
    if adds and crashes:
        yield sometimes("scenario Two: a, b, d and e", lambda view: set("abde") <= _committed(view))


def _leaders(view: View) -> list[Shown]:
    shown = [one for name, one in view.up.items() if name != OPERATOR and one.leads]
    newest = max((one.term for one in shown), default=0)
    return [one for one in shown if one.term == newest]


def _committed(view: View) -> set[str]:
    log = view.monitor.log
    return set(log[-1].members) if log else set()


def _one_change(view: View) -> bool:
    return all(
        len({entry.members for entry in one.log[one.committed - 1 :]}) <= 2
        for one in _leaders(view)
    )


def _enough(view: View) -> bool:
    return all(len(one.members) >= TARGET for one in _leaders(view))


def _replaced(view: View) -> bool:
    return any(
        len(_committed(view) & set(view.up)) >= TARGET and name not in view.up for name in FIRST
    )


def _repaired(terms: int, view: View) -> bool:
    """Three replicas run; or no majority does, or the elections are used up."""
    if len(_committed(view) & set(view.up)) >= TARGET:
        return True
    leaders = _leaders(view)
    newest = max(one.term for name, one in view.up.items() if name != OPERATOR)
    if newest == terms and all(one.term < terms for one in leaders):
        return True
    running = set(view.up)
    return all(2 * len(one.members & running) <= len(one.members) for one in leaders)
