"""Histories of our own nodes: members, logs and stores of the swarm, in simulated time.

A kind of history is a plot; a seed draws the number of members, the members that events concern,
and the clients' writes.  At the end all are down.  The frames of a store are read from its journal;
a frame is acknowledged if a client was told that it is committed.  The protocol, the log, the
journal and the store's bytes are real; time, network, processes and the disk are simulated.

`follow` plays the history once more, carries out the last line, and starts all members.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import define, evolve, field

from joinproto.durable.journal.journal import FILE, Journal
from joinproto.errors import EnvironmentProblem
from joinproto.join.member import Member
from joinproto.join.view import Position
from joinproto.store.handle import create_store
from joinproto.swarm.actions import do
from joinproto.swarm.draw import draw as draw_any
from joinproto.swarm.oracle import Oracle, Violation
from joinproto.swarm.place import DIRECTORY, DataDirectory
from joinproto.swarm.scenario import Action, ActionKind, Scenario
from joinproto.swarm.simulation import CLUSTER, Simulation
from tools.histories.followed import Followed, Steps
from tools.histories.judged import History

FOUND_SECONDS = 20.0
SERVES_SECONDS = 200.0
WRITES_MAX = 12


@define
class Draw:
    """The drawn actions, in order.

    `up`: running members.  `now`: the time of the next action in seconds.
    """

    chance: random.Random
    members: str
    up: list[str]
    now: float = FOUND_SECONDS
    actions: list[Action] = field(factory=list)

    def add(self, kind: ActionKind, who: str = "", others: str = "", amount: float = 0.0) -> None:
        self.actions.append(Action(self.now, kind, who, others, amount))

    def wait(self, most: float) -> None:
        self.now += self.chance.uniform(0.0, most)

    def one(self) -> str:
        return self.chance.choice(self.up)

    def write(self) -> None:
        for _ in range(self.chance.randint(1, WRITES_MAX)):
            self.add(ActionKind.WRITE, self.one())
            self.wait(0.2)

    def end(self, who: str, kind: ActionKind = ActionKind.CRASH) -> None:
        self.add(kind, who, amount=self.chance.randint(0, 6))
        self.up.remove(who)

    def back(self, who: str) -> None:
        self.add(ActionKind.START, who)
        self.up.append(who)
        self.wait(8.0)

    def away(self) -> str:
        """Kill a member, and let the others continue."""
        who = self.one()
        self.end(who, self.chance.choice((ActionKind.CRASH, ActionKind.CRASH_SOON)))
        self.wait(8.0)
        self.write()
        return who

    def down(self) -> None:
        """Kill all members: at once, or one after another with writes in between."""
        is_together = self.chance.random() < 0.5
        while self.up:
            self.end(self.one(), self.chance.choice((ActionKind.CRASH, ActionKind.CRASH_SOON)))
            if self.up and not is_together:
                self.wait(8.0)
                self.write()


def _orderly(it: Draw) -> None:
    it.write()
    it.add(ActionKind.SHUTDOWN, it.one())
    it.wait(8.0)


def _left(it: Draw) -> None:
    it.write()
    who = it.one()
    it.add(ActionKind.LEAVE, who)
    it.up.remove(who)
    it.wait(8.0)
    it.write()


def _together(it: Draw) -> None:
    it.write()
    while it.up:
        it.end(it.one(), it.chance.choice((ActionKind.CRASH, ActionKind.CRASH_SOON)))


def _power(it: Draw) -> None:
    it.write()
    while it.up:
        it.end(it.one(), ActionKind.POWER)
    it.wait(1.0)


def _in_turn(it: Draw) -> None:
    it.write()
    while it.up:
        it.away() if len(it.up) > 1 else it.end(it.up[0])


def _cut(it: Draw) -> None:
    it.write()
    lone = it.one()
    it.add(ActionKind.SPLIT, lone)
    for _ in range(it.chance.randint(1, 4)):
        it.write()
        it.wait(6.0)
    if it.chance.random() < 0.5:
        it.add(ActionKind.HEAL)
        it.wait(8.0)
        it.write()


def _back(it: Draw) -> None:
    it.back(it.away())
    it.write()


def _wiped(it: Draw) -> None:
    who = it.away()
    it.add(ActionKind.WIPE, who)
    if it.chance.random() < 0.5:
        it.back(who)
        it.write()


def _old_copy(it: Draw) -> None:
    who = it.away()
    it.add(ActionKind.RESTORE, who)  # makes the copy that the later one puts back
    it.back(who)
    it.write()
    it.wait(8.0)
    if it.chance.random() < 0.5:
        it.down()
    else:
        it.end(who)
        it.wait(8.0)
        it.write()
    it.add(ActionKind.RESTORE, who)


def _forced(it: Draw) -> None:
    who = it.away()
    it.wait(8.0)
    it.down()
    it.wait(2.0)
    it.add(ActionKind.MARK, who)
    for name in it.chance.sample(it.members, it.chance.randint(1, len(it.members))):
        it.back(name)
    it.wait(20.0)
    if it.up:
        it.write()


PLOTS: Mapping[str, Callable[[Draw], None]] = {
    "orderly": _orderly,
    "left": _left,
    "killed-together": _together,
    "power": _power,
    "majority": _in_turn,
    "cut": _cut,
    "back": _back,
    "wiped": _wiped,
    "old-copy": _old_copy,
    "forced": _forced,
    "any": lambda _: None,
}
KINDS = tuple(PLOTS)


def scenario_of(seed: int, kind: str) -> Scenario:
    """Return the scenario of a seed and kind."""
    if kind == "any":
        return evolve(draw_any(seed), outside=False, transients="", apart=(), ends_in_order=False)
    chance = random.Random(f"{seed} {kind}")
    members = "abcde"[: chance.choice((3, 3, 3, 4, 5))]
    it = Draw(chance, members, list(members))
    it.actions += [Action(chance.uniform(0.0, 2.0), ActionKind.START, name) for name in members]
    PLOTS[kind](it)
    if it.up and (kind != "orderly" or chance.random() < 0.5):
        it.down()
    return Scenario(
        seed=seed,
        members=members,
        electors=members,
        wait_for=chance.choice((len(members) // 2 + 1, len(members))),
        automatic=chance.random() < 0.5,
        delay=chance.choice((0.005, 0.02, 0.1)),
        actions=tuple(it.actions),
    )


@define(eq=False)
class Ledger(Oracle):
    """The oracle, with the names of the frames that clients were told are committed."""

    names: set[str] = field(factory=set)

    def acknowledged(self, body: bytes, at: Position) -> None:
        self.names.add(_name(str(at.view), at.seq))
        Oracle.acknowledged(self, body, at)


@contextmanager
def _played(scenario: Scenario) -> Iterator[tuple[Simulation, frozenset[str]]]:
    """Play a scenario until all members are down; yield the simulation and acknowledged frames."""
    it = Simulation(scenario, Member.start)
    it.oracle = ledger = Ledger(scenario, it.oracle.running, it.oracle.records)
    try:
        for action in scenario.actions:
            it.advance(action.at)
            do(it, action)
        it.advance(it.now + scenario.patience)
        for name in scenario.members:
            it.kill(name)
        yield it, frozenset(ledger.names)
    except Violation as found:
        raise EnvironmentProblem(f"the run itself breaks {found.claim}: {found.what}") from found


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed, and leave its stores in `folder`.

    `kind`: one of `KINDS`; without one it follows from the seed.
    """
    kind = kind or KINDS[seed % len(KINDS)]
    scenario = scenario_of(seed, kind)
    stores, has = {}, {}
    with _played(scenario) as (it, acknowledged):
        for name, place in it.places.items():
            if place.record is None:
                continue
            stores[name] = folder / "stores" / name
            stores[name].mkdir(parents=True)
            create_store(
                stores[name], place.record, member=name, cluster_name=CLUSTER, frames=FILE
            ).close()
            (stores[name] / FILE).write_bytes(_journal_of(place))
            has[name] = _frames(Journal.open(stores[name]))
    return History(
        broker="joinproto",
        seed=seed,
        kind=kind,
        events=tuple(
            str(action) for action in scenario.actions if action.kind is not ActionKind.WRITE
        ),
        stores=stores,
        has=has,
        acknowledged=acknowledged,
        nodes=len(scenario.members),
    )


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Play a history once more, and carry out a last line; return None without advice."""
    is_plan = line.startswith("joinproto recover plan ") and "--" not in line.replace("-o ", "")
    if not is_plan and not line.startswith("start all members"):
        return None
    names = tuple(sorted(history.stores))
    with _played(scenario_of(history.seed, history.kind)) as (it, _):
        marked = _marked(history) if is_plan else ""
        if marked:
            it.places[marked].mark()
        it.network.mend()
        it.network.is_mended = True
        it.gone.clear()
        it.options.clear()
        for name, place in it.places.items():
            place.dies_in, place.dies_feeding = None, False
            it.power.discard(name)
            it.begin(name)
        it.advance(it.now + SERVES_SECONDS * it.scenario.patience)
        serving = [name for name, one in it.processes.items() if one.is_served]
        has = {
            name: _frames(Journal.open(DIRECTORY, files=it.places[name].files.copied()))
            for name in serving
        }
    return Followed(
        steps=Steps(force=marked, stages=(names,)),
        kept=len(history.kept),
        lost=max((len(history.kept - found) for found in has.values()), default=0),
        is_said=False,
        not_up=tuple(name for name in names if name not in serving),
    )


def _marked(history: History) -> str:
    from tools.histories.judged import judge

    return judge(history, tuple(sorted(history.stores))).named[0]


def _journal_of(place: DataDirectory) -> bytes:
    """Return the present bytes of a place's journal."""
    return next(bytes(node.shown) for path, node in place.files.files() if Path(path).name == FILE)


def _frames(journal: Journal) -> frozenset[str]:
    """Return the frames of a journal, and close it."""
    try:
        return frozenset(
            _name(str(run.view), seq)
            for run in journal.runs
            for seq in range(run.first, run.last + 1)
        )
    finally:
        journal.close()


def _name(view: str, seq: int) -> str:
    return f"{view}/{seq}"
