"""The outcomes of each choice: every order of events after the start, searched to its end.

The members are the shipped `Member`, started all at once from the given stores, over a network
that loses, doubles and reorders, with deadlines that come at any moment.  Members whose store
was not given do not start.  No member writes, crashes or stops the cluster: worlds with these
events ship, and `joinproto check` searches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from typing import Any

from attrs import define, field, frozen

from joinproto.check.check import check
from joinproto.check.faults import Faults
from joinproto.check.properties import always_each, always_monitor
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.cli.rehearse.disks import Disk, DiskScenario, marked
from joinproto.join.config import Config, TotalFailure
from joinproto.join.ids import Name
from joinproto.join.phases import Phase
from joinproto.join.view import Kind, View
from joinproto_worlds.join.claims import beside_the_ledger
from joinproto_worlds.join.expiry import expiry
from joinproto_worlds.join.ledger import History, Ledger
from joinproto_worlds.join.member import Node, Shown
from joinproto_worlds.join.plan import Plan
from joinproto_worlds.join.register import Register
from joinproto_worlds.join.words import REGISTER

PAIRS_MAX = 4
"""With more stores than this, only marks of one store and of all stores are tried."""

AUTOMATIC = "automatic"
"""The name of the choice without a mark, and with `total_failure = automatic` everywhere."""

PROPOSERS_MAX = 3
"""With more members than this, only the lowest member that may propose does so; the others wait.

Otherwise each member proposes, in a search of its own.  The world `join-rivals` shows that rivals
do no harm.
"""


@frozen
class Choice:
    """The operator's action before the start.  `marks`: the members whose stores get a mark."""

    name: str
    marks: tuple[str, ...] = ()
    is_automatic: bool = False


@frozen(kw_only=True)
class Start:
    """A view that a restart can come to: its kind, its members, and the last frame before it.

    `frame`: the frame's number in the stores; None means before all frames that differ.
    """

    kind: str
    members: tuple[str, ...]
    frame: int | None
    is_served: bool


@frozen(kw_only=True)
class Outcome:
    """The outcome of one choice.

    `starts`: the next views that can be chosen.  `waits`: the reasons for which members wait, as
    the tables name them.  `aborts`: members that may stop for good.  `loses`: a frame that may have
    been acknowledged can be lost.  `is_whole`: every order of events was searched.
    """

    choice: Choice
    starts: tuple[Start, ...]
    waits: tuple[str, ...]
    aborts: tuple[str, ...]
    loses: bool
    is_whole: bool
    states: int


def choices(names: tuple[str, ...]) -> tuple[Choice, ...]:
    """Return the operator's choices for the stores of these members."""
    singles = [Choice(f"mark {name}", (name,)) for name in names]
    pairs = [
        Choice(f"mark {a} and {b}", (a, b))
        for a, b in combinations(names, 2)
        if 2 < len(names) <= PAIRS_MAX
    ]
    together = [Choice("mark all", names)] if len(names) > 1 else []
    automatic = Choice(AUTOMATIC, is_automatic=True)
    return (Choice("no mark"), *singles, *pairs, *together, automatic)


def rehearse(scene: DiskScenario, choice: Choice, *, outside: bool, states_max: int) -> Outcome:
    """Return the outcomes of this choice.

    `outside`: an outside register chooses the views.  `states_max`: the limit of each search.
    """
    recorder = _Recorder()
    found = [
        check(_world(scene, choice, recorder, name, outside=outside), states_max=states_max)
        for name in proposers(scene)
    ]
    results = {(item.name, item.result) for one in found for item in one.properties}
    return Outcome(
        choice=choice,
        starts=tuple(sorted(recorder.starts(scene), key=_largest_first)),
        waits=tuple(sorted({case for one in found for case in _waits(one)})),
        aborts=tuple(sorted(recorder.aborted)),
        loses=any(
            (claim, "violated") in results for claim in ("nothing_lost", "learned_is_chosen")
        ),
        is_whole=not any(one.stopped_by for one in found),
        states=sum(one.distinct for one in found),
    )


def _largest_first(start: Start) -> Any:
    return (-len(start.members), start.members, start.kind, -(start.frame or 0))


def _waits(found: Report) -> list[str]:
    """Return the cases of the tables for the next view in which members waited."""
    tables = ("chain-founding ", "chain-reopening ", "chain-going-on ")
    taken = [rule for rule, count in found.coverage.rules.items() if count]
    # Only I1 and I6 wait: the other cases of these tables choose, or stop for good.
    cases = [rule.partition(" ")[2] for rule in taken if rule.startswith(tables)]
    return [case for case in cases if case.startswith(("I1:", "I6:"))]


# -- the world -------------------------------------------------------------------------------------


def _world(
    scene: DiskScenario, choice: Choice, recorder: _Recorder, proposer: str, *, outside: bool
) -> World:
    names = tuple(sorted(scene.disks))
    tip = scene.chain.tip
    assert tip is not None
    nodes: dict[str, Any] = {}
    for name in names:
        disk = scene.disks[name]
        plan = Plan(
            _config(name, tip, is_automatic=choice.is_automatic, outside=outside),
            (marked(disk) if name in choice.marks else disk).record,
            frozenset(names) - {name},
            tip.number + 1,
            0,
            proposes=name == proposer,
            suspects=False,
            closes=False,
            rounds=_round(scene) + 1,
        )
        nodes[name] = partial(_node, plan, disk)
    if outside:
        nodes[REGISTER] = partial(Register, frozenset(scene.chain.views))
    chosen = frozenset(view.id for view in scene.chain.views if isinstance(view.id, Name))
    ledger = partial(Ledger, tip.wait_for, chosen=chosen, committed=scene.kept)
    return World(
        name="rehearsal",
        members=nodes,
        faults=Faults(crashes=0, partitions=0),
        monitor=ledger,
        expiry=partial(expiry, names, not outside, True),
        properties=[
            *beside_the_ledger(names),
            always_monitor("one_successor", _one_successor),
            always_each("heard", recorder, among=names),
        ],
        about="members restart from given stores",
    )


def _node(plan: Plan, disk: Disk) -> Node:
    return Node(plan, plan.record, disk.frames)


def _config(name: str, tip: View, *, is_automatic: bool, outside: bool) -> Config:
    """Return the assumed configuration of the member: the cluster's former configuration."""
    return Config(
        member=name,
        electors=frozenset(seat.member for seat in tip.electors),
        wait_for=tip.wait_for,
        options=tip.options_digest.removesuffix(f"/{tip.wait_for}"),
        cluster_name=tip.cluster_name,
        total_failure=TotalFailure.AUTOMATIC if is_automatic else TotalFailure.MANUAL,
        outside=outside,
        heartbeat=0,
    )


def proposers(scene: DiskScenario) -> tuple[str, ...]:
    """Return the members that propose, each in its own search: all, or the lowest that may."""
    if len(scene.disks) <= PROPOSERS_MAX:
        return tuple(sorted(scene.disks))
    tip = scene.chain.tip
    assert tip is not None
    known = {name for name, disk in scene.disks.items() if disk.record.tip == tip}
    electors = {seat.member for seat in tip.electors} & known
    members = {seat.member for seat in tip.members} & known
    # On an open view only its members propose.
    return (min((electors & members if tip.is_open else electors) or members or known),)


def _round(scene: DiskScenario) -> int:
    """Return the latest round that a store has promised; the search goes one beyond it."""
    promised = [disk.record.promised for disk in scene.disks.values()]
    return max((ballot.round for ballot in promised if ballot is not None), default=0)


def _one_successor(history: History) -> bool:
    return not history.wrong.startswith("one_successor")


# -- recording -------------------------------------------------------------------------------------


@define(eq=False)
class _Recorder:
    """A claim that always holds, and records the states that it judges."""

    active: set[Name] = field(factory=set)
    known: set[Name] = field(factory=set)
    aborted: set[str] = field(factory=set)

    def __call__(self, shown: Shown) -> bool:
        if shown.tip is not None:
            self.known.add(shown.tip)
            if shown.phase is Phase.ACTIVE:
                self.active.add(shown.tip)
        if shown.phase is Phase.ABORTED:
            self.aborted.add(shown.seat.member)
        return True

    def starts(self, scene: DiskScenario) -> set[Start]:
        return {
            Start(
                kind=name.kind.name,
                members=tuple(sorted(seat.member for seat in name.members)),
                frame=None if name.position is None else scene.real[name.position[1]],
                is_served=name in self.active,
            )
            for name in self.known
            if name.number > scene.chain.length
        }


KINDS: Mapping[str, str] = {
    Kind.RESTART.name: "restarts",
    Kind.CHANGE.name: "goes on",
    Kind.CLOSE.name: "is closed",
    Kind.FOUND.name: "is founded",
}
