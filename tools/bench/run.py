"""The measurements of the benchmark, in order.

Commands run in child processes, one at a time; the tools take turns (A B A B), so that another load
on the machine slows all of them.  A count that differs from the known count is a problem.

This module and its imports stay small, without arrays and plots: see peers/launch.c.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from attrs import Factory, define, evolve, field, frozen

from joinproto.errors import EnvironmentProblem
from tools.bench import machine, oracle, pythons, spin
from tools.bench.measure import Command, Cost, Finished, measure
from tools.bench.results import (
    COMMIT,
    MEMBERS_OF_BASE,
    MemberCost,
    NodeCost,
    RestartCost,
    Results,
    Row,
    Seen,
    Start,
    Tool,
    comparisons_of,
    read_member,
    read_node,
    read_restart,
    row_of,
    start_of,
)

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
OTHERS = ("paxos-founding", "join")
"""Worlds besides two-phase commit, measured with 3 members, and with SPIN if it has a model."""

STATES_OF_PART = 20_000
"""The number of states that the plain search visits of a world that would take hours."""

MEMBERS_OF_REFERENCE_MAX = 7
"""The largest size for searches in plain Python: with 8 members they take ten minutes."""


@frozen
class Plan:
    """A plan.  `sizes`: numbers of resource managers.  `runs`: how often each command runs.

    `others`: other worlds.  `peers`: whether to run checkers in Python.  `profiled`: compile SPIN
    twice, the second time with a profile, which makes it fastest.  `member`, `node`, `restart`:
    whether to measure a member, three nodes, and a restart.  `own`: the command `joinproto`.
    """

    sizes: tuple[int, ...] = (7, 8, 9)
    runs: int = 3
    others: tuple[str, ...] = OTHERS
    peers: bool = True
    profiled: bool = True
    member: bool = True
    node: bool = True
    restart: bool = True
    own: tuple[str, ...] = (sys.executable, "-m", "joinproto")
    command: str = "make bench"


@frozen
class Entrant:
    """One tool for one size.  `read`: returns its counts, or raises ValueError.

    `rounds`: the tool rounds counts to eight digits, as SPIN does.  `in_part`: it counts only some
    of the states.
    """

    tool: Tool
    world: str
    members: int
    shown: str
    command: Command
    read: Callable[[str], Seen]
    rounds: bool = False
    in_part: bool = False

    def __str__(self) -> str:
        return f"{self.world} {self.members} {self.tool}"


@define
class Bench:
    """A running benchmark.  `folder`: for compiled programs.  `say`: gets a line of progress."""

    plan: Plan
    folder: Path
    say: Callable[[str], None]
    launcher: Path | None = None
    problems: list[str] = field(factory=list)
    left_out: list[str] = field(factory=list)
    rows: list[Row] = field(factory=list)
    _environment: Mapping[str, str] = Factory(dict)

    def run(self) -> Results:
        described = machine.describe()
        # The folder for compiled loops is empty, so that the first run compiles them.
        self._environment = {"NUMBA_CACHE_DIR": str(self.folder / "loops")}
        has_spin = self._prepare_spin()
        peers = self._python_peers() if self.plan.peers else {}
        cold = self._cold_start()
        smallest = min(MEMBERS_OF_REFERENCE_MAX, *self.plan.sizes)
        for members in sorted({MEMBERS_OF_BASE, *self.plan.sizes}):
            group = [self._own_entrant(COMMIT, members)]
            if members <= smallest:
                group.append(self._plain_entrant(members))
                group += [self._peer_entrant(tool, call, members) for tool, call in peers.items()]
            if has_spin:
                group += self._spin_entrants(members, int(described.memory_gib * 1024))
            self._measure_group(group)
        for world in self.plan.others:
            group = [self._own_entrant(world, 3), self._plain_entrant(3, world)]
            if has_spin and world in spin.MODELS:
                group += self._spin_entrants(3, int(described.memory_gib * 1024), world)
            self._measure_group(group)
        starts = self._measure_small_commands()
        member = self._cost_of("a member, round by round", cost_of_member, self.plan.member)
        node = self._cost_of("three nodes, and etcd", cost_of_node, self.plan.node)
        restart = self._cost_of("a node with many frames", cost_of_restart, self.plan.restart)
        return Results(
            command=self.plan.command,
            date=datetime.now(UTC).date().isoformat(),
            runs=self.plan.runs,
            machine=evolve(described, load_after=machine.describe().load_before),
            rows=tuple(self.rows),
            comparisons=comparisons_of(self.rows),
            starts=starts,
            cold=cold,
            problems=tuple(self.problems),
            left_out=tuple(self.left_out),
            member=member,
            node=node,
            restart=restart,
        )

    # -- which tools take part ----------------------------------------------------------------

    def _own_entrant(self, world: str, members: int) -> Entrant:
        arguments: tuple[str, ...] = ("check", world, "--members", str(members), "--json")
        arguments += ("--no-cache",)
        if (world, members) == (COMMIT, MEMBERS_OF_BASE):
            # With a limit, the engine searches so small a world, too, and its start is the base.
            arguments += ("--max-states", "1000000")
        return Entrant(
            tool="joinproto",
            world=world,
            members=members,
            shown=" ".join(("joinproto", *arguments)),
            command=Command([*self.plan.own, *arguments], ROOT, self._environment),
            read=read_own,
        )

    def _plain_entrant(self, members: int, world: str = COMMIT) -> Entrant:
        part = () if world == COMMIT else ("--states-max", str(STATES_OF_PART))
        arguments = ("-m", "tools.bench.peers.per_state", world, "--members", str(members), *part)
        return Entrant(
            tool="per-state",
            world=world,
            members=members,
            shown=" ".join(("python", *arguments)),
            command=Command([sys.executable, *arguments], ROOT),
            read=read_own,
            in_part=bool(part),
        )

    def _python_peers(self) -> dict[Tool, tuple[str, ...]]:
        """Return the checkers in Python that take part, each with its command."""
        found: dict[Tool, tuple[str, ...]] = {}
        wanted: tuple[tuple[Tool, Callable[[], tuple[str, ...]]], ...] = (
            ("minicheck", pythons.minicheck),
            ("musil", lambda: pythons.musil(self.folder)),
        )
        for tool, call in wanted:
            try:
                found[tool] = call()
            except EnvironmentProblem as error:
                self.left_out.append(str(error))
                self.say(str(error))
        return found

    def _peer_entrant(self, tool: Tool, call: tuple[str, ...], members: int) -> Entrant:
        arguments = (*call[1:], COMMIT, "--members", str(members))
        return Entrant(
            tool=tool,
            world=COMMIT,
            members=members,
            shown=" ".join(("python", *arguments)),
            command=Command([call[0], *arguments], ROOT),
            read=read_peer,
        )

    def _prepare_spin(self) -> bool:
        """Return whether SPIN takes part; if not, name the package to install."""
        problem = spin.missing()
        if problem is None:
            try:
                self.launcher = spin.build_launcher(self.folder)
            except EnvironmentProblem as error:
                problem = error
        if problem is not None:
            self.left_out.append(str(problem))
            self.say(str(problem))
        return problem is None

    def _spin_entrants(
        self, members: int, memory_mib: int, world: str = COMMIT
    ) -> Iterable[Entrant]:
        searches: tuple[tuple[Tool, spin.Search], ...] = (
            ("spin-bfs-o3", "bfs"),
            ("spin-bfs", "bfs"),
            ("spin-dfs", "dfs"),
        )
        for tool, search in searches:
            self.say(f"compiling SPIN, {world} {members}, {search}")
            try:
                command = spin.build(
                    self.folder / f"{tool}-{world}-{members}",
                    world,
                    members=members,
                    search=search,
                    memory_mib=memory_mib,
                    profiled=self.plan.profiled,
                    plain=tool == "spin-bfs-o3",
                )
            except EnvironmentProblem as error:
                self.left_out.append(str(error))
                self.say(str(error))
                continue
            yield Entrant(
                tool=tool,
                world=world,
                members=members,
                shown=" ".join(command.arguments),
                command=command,
                read=read_spin_bfs if search == "bfs" else read_spin_dfs,
                rounds=True,
            )

    # -- measuring ---------------------------------------------------------------------

    def _cold_start(self) -> Start | None:
        """Return the cost of the first search, before any loop is compiled."""
        first = self._own_entrant(COMMIT, MEMBERS_OF_BASE)
        done = self._run_once(first, "first run, loops not compiled")
        return None if done is None else start_of(first.shown, [done[0]])

    def _measure_group(self, group: list[Entrant]) -> None:
        """Run the entrants in turn; an entrant that fails does not run again."""
        # Each size may need other compiled loops, so joinproto's first run is not counted.
        ready = [
            entrant
            for entrant in group
            if entrant.tool != "joinproto" or self._run_once(entrant, "not counted") is not None
        ]
        costs: dict[Tool, list[Cost]] = {entrant.tool: [] for entrant in ready}
        seen: dict[Tool, Seen] = {}
        for number in range(1, self.plan.runs + 1):
            for entrant in list(ready):
                done = self._run_once(entrant, f"run {number} of {self.plan.runs}")
                if done is None:
                    ready.remove(entrant)
                    continue
                cost, counted = done
                if seen.setdefault(entrant.tool, counted) != counted:
                    self._problem(
                        f"{entrant}: {counted} in run {number}, earlier {seen[entrant.tool]}"
                    )
                costs[entrant.tool].append(cost)
        for entrant in ready:
            self.rows.append(
                row_of(
                    tool=entrant.tool,
                    world=entrant.world,
                    members=entrant.members,
                    command=entrant.shown,
                    seen=seen[entrant.tool],
                    costs=costs[entrant.tool],
                    base=self._base(entrant),
                )
            )

    def _base(self, entrant: Entrant) -> Row | None:
        if (entrant.world, entrant.members) == (COMMIT, MEMBERS_OF_BASE):
            return None
        # The start costs the same for all worlds.
        for row in self.rows:
            if (row.tool, row.world, row.members) == (entrant.tool, COMMIT, MEMBERS_OF_BASE):
                return row
        return None

    def _run_once(self, entrant: Entrant, what: str) -> tuple[Cost, Seen] | None:
        done = measure(entrant.command, launcher=self.launcher)
        self.say(f"{entrant}, {what}: {done.cost.cpu_seconds:.2f} s of CPU")
        try:
            if done.exit_code != 0:
                raise ValueError(f"exit code {done.exit_code}\n{done.complaint}")
            counted = entrant.read(done.stdout)
        except (ValueError, KeyError) as error:
            self._problem(f"{entrant}: {error}")
            return None
        for line in disagreements(entrant, counted):
            self._problem(f"{entrant}: {line}")
        return done.cost, counted

    def _measure_small_commands(self) -> tuple[Start, ...]:
        found = []
        small = ("check", COMMIT, "--members", "3", "--json", "--no-cache")
        for arguments in (("--help",), small):
            shown, costs = " ".join(("joinproto", *arguments)), list[Cost]()
            for _ in range(self.plan.runs):
                done: Finished = measure(
                    Command([*self.plan.own, *arguments], ROOT), launcher=self.launcher
                )
                if done.exit_code != 0:
                    self._problem(f"{shown}: exit code {done.exit_code}\n{done.complaint}")
                    break
                costs.append(done.cost)
            if costs:
                found.append(start_of(shown, costs))
        found += [
            start_of(row.command, row.costs)
            for row in self.rows
            if (row.tool, row.world, row.members) == ("joinproto", COMMIT, MEMBERS_OF_BASE)
        ]
        return tuple(found)

    def _cost_of(self, what: str, cost: Callable[[], T], wanted: bool) -> T | None:
        if not wanted:
            return None
        self.say(what)
        try:
            return cost()
        except EnvironmentProblem as error:
            self._problem(str(error))
            return None

    def _problem(self, text: str) -> None:
        # The same wrong count occurs in every run.
        if text not in self.problems:
            self.problems.append(text)
            self.say(text)


def cost_of_member() -> MemberCost:
    """Return the cost of a member, measured in a process of its own."""
    return read_member(_printed("tools.bench.member"))


def cost_of_node() -> NodeCost:
    """Return the cost of three nodes, and of etcd, measured in a process of its own."""
    return read_node(_printed("tools.bench.node"))


def _printed(module: str) -> str:
    done = measure(Command([sys.executable, "-m", module], ROOT))
    if done.exit_code != 0:
        raise EnvironmentProblem(
            f"{module}: exit code {done.exit_code}\n{done.complaint}",
            next=f"run python -m {module}",
        )
    return done.stdout


def disagreements(entrant: Entrant, counted: Seen) -> list[str]:
    """Return each difference between `counted` and the known counts, as text."""
    right = oracle.counts(entrant.world, entrant.members)
    if right is None or entrant.in_part:
        return []
    text = spin.rounded if entrant.rounds else str
    return [
        f"{name} {got}, expected {expected}"
        for name, got, expected in (
            ("distinct", counted.distinct, right.distinct),
            ("generated", counted.generated, right.generated),
            ("depth", counted.depth, right.depth),
        )
        if got is not None and text(got) != text(expected)
    ]


def read_own(printed: str) -> Seen:
    """Return the counts from the JSON of `joinproto check`, and of the plain search."""
    found = json.loads(printed)
    if found["result"] != "holds":
        raise ValueError(f"the result is {found['result']}, expected holds")
    return Seen(found["distinct"], found["generated"], found["depth"], found.get("calls"))


def read_peer(printed: str) -> Seen:
    """Return the count of a checker in Python, which prints no steps and no depth."""
    found = json.loads(printed)
    if found["result"] != "holds":
        raise ValueError(f"the result is {found['result']}, expected holds")
    return Seen(found["distinct"], None)


def read_spin_bfs(printed: str) -> Seen:
    found = _read_spin(printed)
    return Seen(found.distinct, found.generated, depth=found.depth_steps + 1)


def read_spin_dfs(printed: str) -> Seen:
    found = _read_spin(printed)
    return Seen(found.distinct, found.generated)


def _read_spin(printed: str) -> spin.SpinResult:
    found = spin.read(printed)
    if found.errors or not found.is_complete:
        raise ValueError(f"SPIN ended early or found an error\n{printed[-600:]}")
    return found


def benchmark(plan: Plan, *, say: Callable[[str], None]) -> Results:
    """Measure a plan.  `say`: gets a line of progress."""
    with tempfile.TemporaryDirectory(prefix="joinproto-bench-") as folder:
        return Bench(plan, Path(folder), say).run()


def cost_of_restart() -> RestartCost:
    """Return the start-up times of a node with many frames, measured in a process of its own."""
    return read_restart(_printed("tools.bench.restart"))
