"""Worlds in which a queue is repaired: the shipped `evaluate` in a group that may lose members.

Source: reconciliation, Q1 to Q4; scenarios One, Two and Three of the design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from attrs import define, evolve

from joinproto.check.events import NOT_ENABLED
from joinproto.check.faults import Faults
from joinproto.check.local import Offline
from joinproto.check.properties import (
    Property,
    always,
    always_monitor,
    always_possible,
    eventually,
    sometimes,
)
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.queue import Node, Placing, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import LOST, Action
from joinproto_worlds.mutations.mutation import Mutation, applied
from joinproto_worlds.mutations.named import is_mutation, mutation
from joinproto_worlds.reconcile.raft import (
    Change,
    CommitMonitor,
    Copied,
    Copy,
    Entry,
    Replica,
    ReplicaView,
    VoteGranted,
    VoteRequest,
)

OPERATOR = "operator"
FIRST = frozenset("abc")
TARGET = 3


@define
class Operator:
    """An operator, who forgets nodes that do not run, and adds and removes replicas by hand.

    `nodes`: the cluster's nodes.  `drained`: nodes in maintenance; `drains`: nodes that may still
    be put into maintenance; `mistaken`: a node in maintenance was given a replica.  `adds`,
    `removes`, `forgets`, `wipes`: how often this may still happen.
    """

    nodes: frozenset[str]
    adds: int
    removes: int
    forgets: int
    wipes: int
    drains: frozenset[str]
    drained: frozenset[str] = frozenset()
    mistaken: bool = False

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
            case ("drain", name) if name in self.drains:
                self.drains -= {name}
                self.drained |= {name}
                return None
            case ("undrain", name) if name in self.drained:
                self.drained -= {name}
                return None
            case "given while drained":
                self.mistaken = True
                return None
        return NOT_ENABLED

    def shows(self) -> Operator:
        return evolve(self)


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
    stands: str = "abcde",
    removable: str = "abcde",
    drains: str = "",
    partitions: int = 0,
    lost: str = "",
    joint: bool = False,
) -> World:
    """Return the world of a queue on the nodes `first` in a cluster of `members` nodes (3 to 5).

    Node a leads at first.  `terms`: the greatest term that a candidate may begin.  `adds`,
    `removes`, `forgets`: how often the operator may do this by hand; `removable`: nodes whose
    replicas the operator may remove.  `wipes`: how many disks may be lost while their node is down.
    `stands`: nodes that may be a candidate; `drains`: nodes that the operator puts into maintenance
    and back; `partitions`: how often a, or a and b, may be cut off; `lost`: nodes that never run;
    `joint`: one joint change replaces a lost replica.
    """
    nodes = frozenset("abcde"[:members])
    known = mutation(mutant) if is_mutation(mutant) else None
    rules = Variant(variant)
    settings = Settings(auto_remove=auto_remove, placement=Placing.LEAST_LOADED)
    replicas: dict[str, Callable[[], Any]] = {
        name: partial(
            Replica,
            name,
            (Entry(1, frozenset(first)),) if name in first else (),
            terms,
            name == "a",
            None if known else mutant,
            name in stands,
            restarts,
            resigns=terms > 2 and name == "a",
        )
        for name in sorted(nodes - set(lost))
    }
    return World(
        name="reconcile-repair",
        members={
            **replicas,
            OPERATOR: partial(Operator, nodes, adds, removes, forgets, wipes, frozenset(drains)),
        },
        beside=(OPERATOR,),
        faults=Faults(
            crashes=crashes,
            restarts=restarts,
            spared=frozenset({OPERATOR}),
            partitions=partitions,
            splits=(frozenset("a"), frozenset("ab")),
        ),
        monitor=CommitMonitor,
        together=partial(_mutated, known, partial(steps, rules, settings, joint, removable)),
        properties=[
            *claims(rules, terms, adds=adds, removes=removes, forgets=forgets, crashes=crashes),
            *_more_claims(terms, drains=drains, lost=lost, joint=joint, partitions=partitions),
        ],
        about="a replica is lost and replaced; no committed entry is lost",
    )


def _mutated(
    mutation: Mutation | None, steps: Callable[[View], Iterator[Together]], view: View
) -> list[Together]:
    with applied(mutation):
        return list(steps(view))


def steps(
    variant: Variant, settings: Settings, joint: bool, removable: str, view: View
) -> Iterator[Together]:
    """Yield the exchanges of replicas, evaluations by leaders, and actions of the operator."""
    office: Operator = view[OPERATOR]
    running = {name: shown for name, shown in view.up.items() if name != OPERATOR}
    for name, shown in running.items():
        replicas = _reached(name, running, view.split)
        if shown.role == "candidate":
            for voter in sorted(
                (shown.peers | shown.extra_members) & replicas.keys() - shown.votes
            ):
                if voter == name:
                    continue
                asked = VoteRequest(name, shown.term, shown.last)
                yield Together(
                    "votes", {voter: asked, name: VoteGranted(voter)}, f"{voter} for {name}"
                )
        if shown.leads:
            for other in sorted(shown.peers & replicas.keys() - shown.kept - {name}):
                copy = Copy(shown.term, shown.log, shown.committed)
                yield Together("copies", {other: copy, name: Copied(other)}, f"{name} to {other}")
            yield from _evaluations(variant, settings, office, replicas, shown, joint=joint)
            if office.adds:
                for other in sorted(office.nodes & replicas.keys() - shown.members):
                    change = Change(more=frozenset({other}))
                    yield Together("adds by hand", {name: change, OPERATOR: "add"}, other)
            if office.removes:
                for other in sorted(shown.members & set(removable) - {name}):
                    change = Change(fewer=frozenset({other}))
                    yield Together("removes by hand", {name: change, OPERATOR: "remove"}, other)
    for name in sorted(office.drains):
        yield Together("drains", {OPERATOR: ("drain", name)}, name, fair=False, fault=True)
    for name in sorted(office.drained):
        yield Together("undrains", {OPERATOR: ("undrain", name)}, name)
    for name in sorted(office.nodes - running.keys()):
        if office.wipes:
            events = {name: Offline("wipe"), OPERATOR: "wipe"}
            yield Together("loses its disk", events, name, fair=False, fault=True)
        yield Together("forgets", {OPERATOR: ("forget", name)}, name, fair=False, fault=True)


def _reached(
    name: str, running: dict[str, ReplicaView], side: frozenset[str] | None
) -> dict[str, ReplicaView]:
    """Return the nodes on the same side of the partition as `name`; `side`: one side, or None."""
    if side is None:
        return running
    return {other: shown for other, shown in running.items() if (other in side) == (name in side)}


def _evaluations(
    variant: Variant,
    settings: Settings,
    office: Operator,
    replicas: dict[str, Any],
    leader: ReplicaView,
    *,
    joint: bool,
) -> Iterator[Together]:
    """Yield the leader's possible evaluations; a node that it does not reach counts as lost."""
    queue = Queue(
        members=tuple(sorted(leader.members)),
        leader=leader.name,
        target=Target(configuration=TARGET),
        changing=None if leader.permits else "the last one",
        behind=tuple(sorted(leader.members - leader.kept - {leader.name})),
        away=dict.fromkeys(leader.members - replicas.keys(), settings.failure_interval),
    )
    nodes = tuple(
        Node(name=name, running=name in replicas, drained=name in office.drained)
        for name in sorted(office.nodes)
    )
    for dice in range(len(nodes) if variant is Variant.REAL else 1):
        found = evaluate(
            Situation(queue=queue, nodes=nodes, settings=settings, variant=variant, dice=dice)
        )
        if not found.nodes:
            return
        which = frozenset(found.nodes)
        is_more = found.action is Action.ADD
        change = Change(more=which) if is_more else Change(fewer=which)
        label = f"{found.action.value} {' and '.join(found.nodes)} ({found.rule} {found.case.name})"
        if joint and is_more:
            gone = found.names(LOST)[:1]
            change = Change(more=which, fewer=frozenset(gone), joint=True)
            label += f", in the place of {gone[0]}" if gone else ""
        events: dict[str, Any] = {leader.name: change}
        if is_more and which & office.drained:
            events[OPERATOR] = "given while drained"
        yield Together("evaluates", events, label)


def claims(
    variant: Variant, terms: int, *, adds: int, removes: int, forgets: int, crashes: int
) -> Iterator[Property]:
    """Yield the claims that must hold, and the events that must be reachable."""
    yield always_monitor("what is committed stays", lambda shown: not shown.diverged)
    yield always("one change at a time", _one_change)
    if not removes:
        yield always("never below the minimum", _keeps_minimum)
    if crashes and variant is not Variant.REAL:
        yield sometimes("one who is down is replaced", _replaced)
        is_ours = variant is Variant.OURS
        also = ", and one may fail" if is_ours else ""
        failures = (TARGET - 1) // 2 if is_ours else 0
        yield always_possible(
            f"three run{also}, or none leads", partial(_repaired, terms, failures)
        )
    if forgets:
        yield sometimes("scenario One: a, b and d", lambda view: _committed(view) == set("abd"))
    if adds and crashes:
        yield sometimes("scenario Two: a, b, d and e", lambda view: set("abde") <= _committed(view))


def _more_claims(
    terms: int, *, drains: str, lost: str, joint: bool, partitions: int
) -> Iterator[Property]:
    yield always("who was removed stays out", _stays_out)
    if terms > 2:
        yield always("who leads has what is committed", _is_complete)
    if lost:
        yield eventually("each that can be repaired is", partial(_repaired, terms, 1))
    if drains:
        yield always(
            "no node in maintenance is given one", lambda view: not view[OPERATOR].mistaken
        )
        yield sometimes(
            "it waits for the end of a maintenance",
            lambda view: bool(view[OPERATOR].drained) and not _others_take(view),
        )
    if joint:
        yield sometimes("replaced by one change", lambda view: _committed(view) == set("abd"))
    if partitions:
        yield sometimes("a change is under way while its leader is cut off", _is_cut_off)


def _stays_out(view: View) -> bool:
    return all(
        name == OPERATOR or not one.extra_members - one.peers for name, one in view.up.items()
    )


def _is_complete(view: View) -> bool:
    log = view.monitor.log
    leaders = [one for name, one in view.up.items() if name != OPERATOR and one.leads]
    return all(one.log[: len(log)] == log for one in leaders if log and one.term >= log[-1].term)


def _others_take(view: View) -> bool:
    office = view[OPERATOR]
    taken = office.drained.union(*(one.peers for one in _leaders(view)))
    return bool(office.nodes & view.up.keys() - taken)


def _is_cut_off(view: View) -> bool:
    side = view.split
    return side is not None and any(
        not one.permits and not one.log[-1].is_carried_by(frozenset(side))
        for one in _leaders(view)
        if one.name in side
    )


def _leaders(view: View) -> list[ReplicaView]:
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


def _keeps_minimum(view: View) -> bool:
    return all(len(one.members) >= TARGET for one in _leaders(view))


def _replaced(view: View) -> bool:
    return any(
        len(_committed(view) & set(view.up)) >= TARGET and name not in view.up for name in FIRST
    )


def _repaired(terms: int, failures: int, view: View) -> bool:
    """Return whether three replicas run, or repair is impossible, because no majority runs or the
    elections are used up.

    `failures`: after so many more failures a majority of all listed replicas must be left.
    """
    members = _committed(view)
    left = len(members & set(view.up)) - failures
    if left + failures >= TARGET and 2 * left > len(members):
        return True
    leaders = _leaders(view)
    newest = max(one.term for name, one in view.up.items() if name != OPERATOR)
    if newest == terms and all(one.term < terms for one in leaders):
        return True
    running = frozenset(view.up)
    return all(not one.log[-1].is_carried_by(running) for one in leaders)
