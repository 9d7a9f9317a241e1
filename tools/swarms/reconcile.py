"""Random runs of the shipped `reconcile run`: its machine, its loop and its file.

Events are drawn before a run begins, so that a failing run can be shortened.  At the end most of
the nodes that are down come back, the others stay down, and no more faults occur.  Then within
`REST_SECONDS` each queue that has a leader must survive as many failures as its target promises,
and the keeper must give no command for `CALM_SECONDS`.

Source: reconciliation, Q2, Q4 and Q5; docs/reconcile.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from attrs import define, evolve, field, frozen

from joinproto.apps.reconcile import loop
from joinproto.apps.reconcile.api import NoAnswer
from joinproto.apps.reconcile.commands import CommandFailed
from joinproto.apps.reconcile.journal import Journal
from joinproto.apps.reconcile.reporting import Reporter
from joinproto.reconcile.keeper import Intent, Keeper, Rules
from joinproto.reconcile.machine import step
from joinproto.reconcile.plan import Limits
from joinproto.reconcile.queue import Kind, Settings
from joinproto.reconcile.reading import Facts, Key, Replica, facts_of, replicas_of
from joinproto.swarm.disk import Disk
from tools.swarms.reconcile_broker import COPIES, LOST_SECONDS, Broker
from tools.swarms.shrink import fewer
from tools.swarms.virtual import one_holder

PLACE = Path("/var/lib/keeper.json")
POLL = 5.0
REST_SECONDS, CALM_SECONDS = 3_600.0, 600.0
RULES = Rules(
    settings=Settings(failure_interval=LOST_SECONDS), limits=Limits(copies_at_once=COPIES)
)
KINDS = {
    "goes": 6,
    "comes": 7,
    "is forgotten": 1,
    "is new": 1,
    "drains": 2,
    "kill": 4,
    "power": 1,
    "no answer": 2,
    "tools fail": 2,
    "no node leads": 3,
    "a list is not written": 2,
    "declare": 2,
    "delete": 1,
    "target": 2,
}


@frozen
class Happening:
    """An event after `wait` seconds; `pick`, 0 to 1, chooses its node or queue."""

    kind: str
    wait: float
    pick: float


@frozen
class Scenario:
    seed: int
    happenings: tuple[Happening, ...]


@frozen
class Found:
    """The result of a run.  `steps`: calls of `step`.  `problem`: the first problem, or ""."""

    scenario: Scenario
    problem: str
    steps: int
    commands: int
    seconds: float


def draw(seed: int, events: int) -> Scenario:
    chance = Random(seed)
    kinds = chance.choices([*KINDS], [*KINDS.values()], k=events)
    waits = (0.0, 0.3, 2.0, 7.0, 30.0, 90.0, 300.0)
    return Scenario(
        seed, tuple(Happening(kind, chance.choice(waits), chance.random()) for kind in kinds)
    )


class Killed(BaseException):
    """The keeper's process was killed."""


@define
class BrokerAccess:
    """The broker's API and tools, with their faults, as the keeper sees them.

    `dies_in`: the number of calls of disk, API or tools before the keeper is killed.  `is_off`: the
    keeper's machine lost power, so the keeper must not act any more.
    """

    broker: Broker
    chance: Random
    disk: Disk
    silent_until: float = 0.0
    fails_until: float = 0.0
    dies_in: int | None = None
    is_off: bool = False
    # The last answer with its key, because the lists seldom change.
    _read: tuple[object, Facts] | None = None

    def call(self, _name: str = "") -> None:
        if self.is_off:
            raise Killed
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                self.dies_in = None
                raise Killed

    def clock(self) -> float:
        return self.broker.now

    def read(self) -> Facts:
        self.call()
        if self.broker.now < self.silent_until:
            raise NoAnswer("no answer", next="ask again")
        said = self.broker.lists_key()
        if self._read is None or self._read[0] != said:
            facts = facts_of(self.broker.api_nodes(), self.broker.api_queues(), None, {})
            self._read = said, facts
        return self._read[1]

    def replicas(self, key: Key, kind: Kind, node: str) -> tuple[Replica, ...]:
        self._take_time(0.0, 0.1)
        group = self.broker.groups.get(key.name)
        if group is None or not self.broker.runs(node):
            raise CommandFailed("no answer", next="ask again")
        return replicas_of(kind, self.broker.status(group))

    def change(self, intent: Intent) -> None:
        self.call()
        if self.broker.now < self.fails_until:
            raise CommandFailed("no such node", next="ask again")
        takes = self.chance.choice((0.0, 0.5, 4.0, 60.0))
        has_end = self.chance.random() >= 0.1
        ends_in = 0.0 if has_end or self.dies_in == 0 else takes
        self.broker.command(intent.key.name, intent.action.value, intent.node, ends_in)
        self._take_time(takes)
        if not has_end:
            raise CommandFailed("no end", next="ask again")

    def _take_time(self, *seconds: float) -> None:
        self.call()
        if self.broker.now < self.fails_until and self.chance.random() < 0.5:
            raise CommandFailed("no answer", next="ask again")
        self.broker.advance(self.chance.choice(seconds))


@define
class Run:
    """One run, in which the keeper is restarted whenever it was killed."""

    scenario: Scenario
    chance: Random = field(init=False)
    broker: Broker = field(init=False)
    access: BrokerAccess = field(init=False)
    steps: int = 0
    _keeper: loop.Loop | None = None
    _numbers: int = 0

    def __attrs_post_init__(self) -> None:
        self.chance = Random(self.scenario.seed)
        self.broker = Broker(self.chance)
        disk = Disk(self.chance)
        disk.make(PLACE.parent)
        self.access = BrokerAccess(self.broker, self.chance, disk)
        for name in "abcde"[: self.chance.randint(3, 5)]:
            self.broker.add_node(name)
        for _ in range(self.chance.randint(1, 4)):
            self._do_event(Happening("declare", 0.0, self.chance.random()))

    def play(self) -> str:
        until = 0.0
        for one in self.scenario.happenings:
            until += one.wait
            self.broker.schedule(until, lambda one=one: self._do_event(one))  # type: ignore[misc]
        if problem := self._run_until(until):
            return problem
        for node in self.broker.nodes.values():
            node.drained = False
            if node.member and not node.up and self.chance.random() < 0.6:
                self.broker.start_node(node)
        self.access.silent_until = self.access.fails_until = 0.0
        self.access.dies_in, self.broker.lost_writes = None, 0
        if problem := self._run_until(self.broker.now + REST_SECONDS, self._is_restless):
            return problem
        if lacks := self._lacks():
            return f"stuck: {lacks}"
        return f"restless: commands in the last {CALM_SECONDS:g} s" if self._is_restless() else ""

    def _is_restless(self) -> bool:
        since = self.broker.now - self.broker.commanded_at
        return since < CALM_SECONDS or bool(self._lacks())

    def _run_until(self, until: float, goes_on: Callable[[], object] = lambda: True) -> str:
        while self.broker.now < until and not self.broker.problems and goes_on():
            try:
                self._running_keeper().round()
            except Killed:
                self._keeper = None
                self.access.disk.process_ends()
            self.broker.advance(POLL)
        return self.broker.problems[0] if self.broker.problems else ""

    def _running_keeper(self) -> loop.Loop:
        if self._keeper is None:
            self.access.is_off = False
            self.access.disk.before = self.access.call
            journal = Journal.open(PLACE, self.access.disk)
            ports: Any = self.access
            reporter = Reporter(lambda _line: None)
            keeper = loop.Loop(ports, ports, Keeper(RULES), reporter, journal, ports.clock)
            keeper.start()
            self._keeper = keeper
        return self._keeper

    def _lacks(self) -> str:
        """Return a queue that survives fewer failures than its target promises, as text, or "".

        The list counts, too: the keeper reads only the list, so it cannot know better if the list
        says that the queue survives enough, or that no majority runs.  A target above the number of
        nodes promises nothing.  A stream's replica on a node that is down cannot be dropped, so no
        more is required than is possible with it.
        """
        runs = self.broker.runs
        up = {one.name for one in self.broker.nodes.values() if one.up and one.member}
        usable = len(up)
        for group in self.broker.groups.values():
            dead = group.replicas.keys() - up if group.kind == "stream" else ()
            best = usable - ((usable + len(dead)) // 2 + 1)
            voters = self.broker.voters(group)
            complete = [name for name in voters if group.replicas[name].has_all]
            promised = min((group.target - 1) // 2, best) if group.target <= usable else 0
            spare = [
                sum(map(runs, able)) - (len(named) // 2 + 1)
                for able, named in ((complete, voters), (group.listed, group.listed))
            ]
            has_listed_majority = 2 * sum(map(runs, group.listed)) > len(group.listed)
            if (
                has_listed_majority
                and self.broker.leader(group) is not None
                and max(spare) < promised
            ):
                return f"{group.name} of {group.target}: {voters}, complete {complete}"
        return ""

    # -- events ------------------------------------------------------------------------------

    def _do_event(self, one: Happening) -> None:
        broker, access, now = self.broker, self.access, self.broker.now

        def picked(found: list[Any]) -> Any:
            return found[int(one.pick * len(found))] if found else None

        members = [node for node in broker.nodes.values() if node.member]
        node = picked(members)
        group = picked([*broker.groups.values()])
        match one.kind:
            case "goes" if node.up:
                broker.stop_node(node)
            case "comes":
                back = picked([each for each in members if not each.up])
                if back is not None:
                    broker.start_node(back)
            case "is forgotten" if not node.up and len(members) > 1:
                node.member, node.changed_at = False, now
            case "is new" if len(members) < 6:
                broker.add_node(f"n{self._number()}")
            case "drains":
                node.drained = not node.drained
            case "kill":
                access.dies_in = int(one.pick * 30)
            case "power":
                self._keeper, access.is_off = None, True
                access.disk = access.disk.copied(lambda: self.chance.random() < 0.5)
                broker.tools_end()
            case "no answer":
                access.silent_until = now + 200 * one.pick
            case "tools fail":
                access.fails_until = now + 200 * one.pick
            case "no node leads" if group is not None:
                group.leaderless_until = now + 60 * one.pick
                broker.schedule(60 * one.pick, broker.show_leaders)
            case "a list is not written":
                broker.lost_writes += 1
            case "declare" if len(broker.groups) < 6:
                up = [each.name for each in members if each.up]
                count = min(len(up), self.chance.choice((1, 3, 3, 5)))
                kind = self.chance.choice(("quorum", "quorum", "stream"))
                if up:
                    some = self.chance.sample(up, count)
                    broker.declare(f"q{self._number()}", kind, self.chance.choice((1, 3, 5)), some)
            case "delete" if group is not None:
                del broker.groups[group.name]
            case "target" if group is not None:
                group.target = self.chance.choice((1, 3, 5))

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def run(scenario: Scenario) -> Found:
    playing = Run(scenario)

    def counted(*given: Any) -> Any:
        playing.steps += 1
        return step(*given)

    with mock.patch.object(loop, "step", counted), one_holder():
        problem = playing.play()
    broker = playing.broker
    return Found(scenario, problem, playing.steps, broker.commands, broker.now)


def _kind(problem: str) -> list[str]:
    """Return the words of a problem without the names of queues and nodes."""
    return [word for word in problem.split() if len(word.rstrip(":")) > 2]


def shrunk(found: Found, seconds: float) -> Found:
    """Return a shorter run with the same kind of problem."""

    def outcome(happenings: tuple[Happening, ...]) -> Found:
        return run(evolve(found.scenario, happenings=happenings))

    def fails(happenings: tuple[Happening, ...]) -> bool:
        return _kind(outcome(happenings).problem) == _kind(found.problem)

    return outcome(fewer(found.scenario.happenings, fails, seconds=seconds))
