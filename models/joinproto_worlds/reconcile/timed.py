"""The scenarios of the design with their times: the shipped `Clock` and `evaluate`.

A tick is ten seconds, a replica is copied at once, and the first look may be at any tick of the
interval.  Of the two free nodes e has less load, and d is in the zone that lost its replica.

Source: reconciliation, Q2 and Q5; scenarios One, Two and Three.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import Property, always_each, eventually, sometimes_one
from joinproto.check.world import World
from joinproto.codec.json_form import filled
from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.queue import Node, Placing, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import Action
from joinproto.reconcile.timers import Clock, Happens, Timers
from joinproto_worlds.mutations.named import mutated

TICK = 10
TARGET = 3
ZONES = {"a": "1", "b": "2", "c": "3", "d": "3", "e": "1"}


class ThirdNode(Enum):
    """The state of node c, which has the third replica."""

    RUNS = "runs"
    DOWN = "down"
    BEHIND = "behind"
    DELETED = "deleted"


@frozen
class LeaderView:
    """The observation of the leader.  `away`: seconds for which c is down.  `since`: seconds after
    the failure in which too few replicas ran.  `looks`: the last step was a look.

    `changes`: how many changes the leader made; `by_hand`: how many the operator may still make.
    """

    members: frozenset[str]
    c: ThirdNode
    away: int
    since: int
    looks: bool
    changes: int
    by_hand: int


@define
class Leader:
    """The queue's leader, on node a.  `fate`: the state of c after its failure; `back`: seconds
    until c is back, None for never.
    """

    clock: Clock
    settings: Settings
    fate: ThirdNode
    back: int | None
    by_hand: int
    mutant: str | None
    members: frozenset[str] = frozenset("abc")
    c: ThirdNode = ThirdNode.RUNS
    failed: bool = False
    away: int = 0
    since: int = 0
    looks: bool = False
    changes: int = 0

    @mutated
    def choices(self) -> Iterator[str]:
        if self.clock.next is None:
            yield from (f"looks first at {at}" for at in range(0, self._interval, TICK))
            return
        is_due = self.c is ThirdNode.BEHIND or (self.c is ThirdNode.DOWN and self.away == self.back)
        if self.clock.next > 0 and not is_due:
            yield "tick"
        if self.clock.next <= 0:
            yield "look"
        if not self.failed:
            yield "c fails"
        if self.c is ThirdNode.DOWN and self.away == self.back:
            yield "c is back"
        if self.c is ThirdNode.BEHIND:
            yield "c has caught up"
        if self.c is ThirdNode.DOWN and self.back is None and len(self._counted) >= TARGET:
            yield "c is forgotten"
        if self.by_hand and self.failed:
            yield from (f"adds {node} by hand" for node in sorted({"d", "e"} - self.members))

    @mutated
    def receive(self, event: Any) -> Any:
        self.looks = event == "look"
        match event:
            case "tick":
                self._tick()
            case "look":
                self._look()
            case "c fails":
                self.failed, self.c, self.since = True, self.fate, 0
                is_down = self.fate is ThirdNode.DOWN
                happens = Happens.NODE_DOWN if is_down else Happens.MEMBER_LEFT
                self.clock = self.clock.hear(happens, 0)
            case "c is forgotten":
                self.c = ThirdNode.DELETED
                self.clock = self.clock.hear(Happens.MEMBER_LEFT, 0)
            case "c is back":
                self.c = ThirdNode.BEHIND
                self.clock = self.clock.hear(Happens.NODE_UP, 0)
            case "c has caught up":
                # This takes ten seconds after c is back.
                self._tick()
                self.c, self.away = ThirdNode.RUNS, 0
            case str() if event.startswith("adds "):
                self.members |= {event[5]}
                self.by_hand -= 1
            case str() if event.startswith("looks first at "):
                self.clock = evolve(self.clock.start(0), looks_at=(int(event[15:]),))
            case _:
                return NOT_ENABLED
        return None

    def _tick(self) -> None:
        nearer = tuple(max(0, at - TICK) for at in self.clock.looks_at)
        self.clock = evolve(self.clock, looks_at=nearer)
        most = 2 * (self._interval + int(self.settings.failure_interval))
        if self.c is ThirdNode.DOWN:
            self.away = min(most, self.away + TICK)
        if self.failed and len(self._counted) < TARGET:
            self.since = min(most, self.since + TICK)

    def _look(self) -> None:
        away = {"c": float(self.away)} if self.c is ThirdNode.DOWN else {}
        found = evaluate(
            Situation(
                queue=Queue(
                    members=tuple(sorted(self.members)),
                    leader="a",
                    target=Target(configuration=TARGET),
                    away=away if "c" in self.members else {},
                    behind=("c",) if self.c is ThirdNode.BEHIND else (),
                ),
                nodes=tuple(
                    Node(
                        name=name,
                        zone=zone,
                        load=float(name == "d"),
                        running=name != "c" or self.c is not ThirdNode.DOWN,
                    )
                    for name, zone in ZONES.items()
                    if name != "c" or self.c is not ThirdNode.DELETED
                ),
                settings=self.settings,
                variant=self.clock.variant,
            )
        )
        if found.action is Action.ADD:
            self.members |= set(found.nodes)
        elif found.action is Action.REMOVE:
            self.members -= set(found.nodes)
        self.changes += bool(found.nodes)
        # A leader that waits for a node looks again soon; by the design it looks at the next turn.
        waits = found.action is Action.WAIT and self.clock.variant is not Variant.SEED
        self.clock = self.clock.looked(0, changed=waits or bool(found.nodes))

    @property
    def _interval(self) -> int:
        return int(self.clock.pace.between(self.clock.variant))

    @property
    def _counted(self) -> frozenset[str]:
        return self.members if self.c is ThirdNode.RUNS else self.members - {"c"}

    def shows(self) -> LeaderView:
        return filled(LeaderView, self)


def build(
    members: int = 1,
    mutant: str | None = None,
    *,
    scenario: str,
    variant: str = "ours",
    interval: int = 60,
    failure: int = 60,
    back: int | None = None,
    by_hand: int = 0,
    within: int = 0,
) -> World:
    """Return the world of a scenario: `one`, `two` or `three`.  All times are in seconds.

    `within`: the longest time from the failure to a replacement.
    """
    pace = Timers(interval=interval, trigger_interval=TICK)
    clock = Clock(variant=Variant(variant), pace=pace)
    settings = Settings(failure_interval=failure, placement=Placing.ZONE_AWARE)
    fate = ThirdNode.DELETED if scenario == "one" else ThirdNode.DOWN
    return World(
        name="reconcile-timed",
        members={"a": partial(Leader, clock, settings, fate, back, by_hand, mutant)},
        properties=list(_claims(scenario, within)),
        about="a scenario of the design, with its times",
    )


def _claims(scenario: str, within: int) -> Iterator[Property]:
    yield always_each("never below the minimum", lambda shown: len(shown.members) >= TARGET)
    if scenario == "three":
        yield always_each("no action was necessary", lambda shown: not shown.changes)
        yield sometimes_one("it looks while c is away", lambda it: it.looks and it.away)
        yield sometimes_one("it looks when c has caught up", _looks_after)
        return
    yield always_each("a replica is added in time", lambda shown: shown.since <= within)
    yield sometimes_one("it takes that long", lambda shown: shown.since == within)
    if scenario == "one":
        end = frozenset("abd")
        yield eventually("in the end a, b and d", lambda view: view["a"].members == end)
        yield always_each("two changes, and no more", lambda shown: shown.changes <= 2)
        return
    yield always_each("one is added, c is dropped, and no more", lambda it: it.changes <= 2)
    yield sometimes_one(
        "one by hand and one by itself", lambda it: it.members == frozenset(ZONES) and it.changes
    )
    # A node that is down stays listed until it is forgotten: it might come back.
    yield sometimes_one("a, b, d and e", lambda it: it.members == frozenset("abde"))
    yield sometimes_one(
        "one by hand is enough", lambda it: not it.by_hand and not it.changes and it.looks
    )


def _looks_after(shown: LeaderView) -> bool:
    return shown.looks and shown.c is ThirdNode.RUNS and shown.away == 0
