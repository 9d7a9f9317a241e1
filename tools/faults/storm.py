"""A storm for any system: faults of every kind, one after another, or several at once.

The seed decides which faults come, which processes they hit, and how long they last.  The processes
have their own timing, so the same seed gives the same storm, but not exactly the same run.

An adapter (`System`) has the differences between systems: how a process is started and killed, the
faults that only this system has, when all processes serve again, and the required final state.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem, JoinprotoError
from tools.faults.network import Network

CALM_SECONDS = 60.0
STUCK_SECONDS = 120.0
ENDS_SECONDS = 30.0
CUTS = frozenset({"partition", "one_way", "link"})


@frozen
class StormVerdict:
    """A verdict.  `problems`: a line for each violated claim; `facts`: figures to report."""

    problems: tuple[str, ...]
    facts: Mapping[str, Any]


class System(ABC):
    """Processes of one system.  `lacks`: common faults that this system does not get.

    `end`: the required final state, in words.
    """

    names: tuple[str, ...]
    network: Network
    lacks: frozenset[str] = frozenset()
    end = "every acknowledged write is there"

    def own_faults(self, storm: Storm) -> Mapping[str, Callable[[], None]]:
        """Return the faults that only this system has, by kind."""
        return {}

    @abstractmethod
    def form(self, storm: Storm) -> None:
        """Start all processes, and clients that work until the end; return when all serve."""

    @abstractmethod
    def start(self, name: str) -> None:
        """Start a process, unless it runs."""

    @abstractmethod
    def process(self, name: str) -> int | None:
        """Return the id of the process; None if it does not run."""

    @abstractmethod
    def signal(self, name: str, number: int) -> None:
        """Send a signal to a process if it runs; after `SIGKILL`, wait until it has ended."""

    @abstractmethod
    def fill_disk(self, name: str) -> None:
        """Make the next writes of a process fail."""

    @abstractmethod
    def settle(self, storm: Storm, seconds: float) -> None:
        """Return once all processes run and serve; raises if they do not within `seconds`."""

    def recover(self, storm: Storm) -> None:
        """Recover the cluster as an operator does after all were killed; start all processes."""
        for name in self.names:
            self.start(name)

    @abstractmethod
    def judge(self) -> StormVerdict:
        """End the clients' work, check the data, and return the verdict."""

    @abstractmethod
    def close(self) -> None:
        """End all processes."""


@define
class Storm:
    """A storm.  `counts`: faults by kind; `say`: gets a line for each event."""

    system: System
    seed: int
    say: Callable[[str], None] = lambda line: None
    counts: Counter[str] = field(factory=Counter)
    chance: random.Random = field(init=False)
    faults: dict[str, Callable[[], None]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        common = {
            kind: getattr(self, f"_{kind}") for kind in KINDS if kind not in self.system.lacks
        }
        self.faults = {**common, **self.system.own_faults(self)}

    def run(self, seconds: float = 0.0, kinds: Iterable[str] | None = None) -> StormVerdict:
        """Cause faults for `seconds`, or one of each of `kinds`; then end all faults, and judge.

        Raises `EnvironmentProblem` if the storm is not possible here.
        """
        try:
            self.system.form(self)
            for kind in self._drawn(time.monotonic() + seconds) if kinds is None else kinds:
                self.faults[kind]()
                self.counts[kind] += 1
                if kinds is not None or self.chance.random() < 0.7:
                    self.calm()
                else:
                    self.pause(0.2, 1.0)
            self.calm(STUCK_SECONDS)
            failure: tuple[str, ...] = ()
        except EnvironmentProblem:
            raise
        except (JoinprotoError, AssertionError, RuntimeError) as error:
            failure = (str(error),)
        judged = self.system.judge()
        return StormVerdict((*failure, *judged.problems), judged.facts)

    def _drawn(self, end: float) -> Iterator[str]:
        """Yield kinds in random order until `end`; each comes about equally often."""
        bag: list[str] = []
        while time.monotonic() < end:
            if not bag:
                bag = list(self.faults)
                self.chance.shuffle(bag)
            yield bag.pop()

    def calm(self, seconds: float = CALM_SECONDS) -> None:
        """End all faults, start all processes that do not run, and wait until all serve."""
        self.system.network.heal()
        for name in self.system.names:
            self.system.signal(name, signal.SIGCONT)
            self.system.start(name)
        self.system.settle(self, seconds)

    def random_name(self) -> str:
        return self.chance.choice(self.system.names)

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.chance.uniform(least, most))

    def wait_end(self, name: str, seconds: float = ENDS_SECONDS) -> bool:
        """Wait for the end of a process; return whether it ended within `seconds`."""
        end = time.monotonic() + seconds
        while self.system.process(name) is not None:
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    # -- the faults ----------------------------------------------------------------------------

    def _kill(self) -> None:
        name = self.random_name()
        self.say(f"kill -9 {name}")
        self.system.signal(name, signal.SIGKILL)
        self.pause(0.1, 2.0)
        self.system.start(name)

    def _stop(self) -> None:
        name = self.random_name()
        self.say(f"SIGSTOP {name}")
        self.system.signal(name, signal.SIGSTOP)
        self.pause(0.5, 4.0)
        self.system.signal(name, signal.SIGCONT)

    def _partition(self) -> None:
        names = self.system.names
        side = self.chance.sample(names, self.chance.randrange(1, (len(names) + 1) // 2 + 1))
        self.say(f"partition {' '.join(sorted(side))}")
        self.system.network.isolate(side)
        self.pause(0.5, 4.0)
        self.system.network.heal()

    def _one_way(self) -> None:
        sender, receiver = self.chance.sample(self.system.names, 2)
        self.say(f"drop {sender} -> {receiver}")
        self.system.network.drop(sender, receiver)
        self.pause(0.5, 4.0)
        self.system.network.heal()

    def _link(self) -> None:
        one, other = self.chance.sample(self.system.names, 2)
        self.say(f"cut {one} - {other}")
        self.system.network.cut(one, other)
        self.pause(0.5, 4.0)
        self.system.network.heal()

    def _full_disk(self) -> None:
        name = self.random_name()
        self.say(f"full disk {name}")
        self.system.fill_disk(name)
        self.wait_end(name, 10.0)
        self.system.signal(name, signal.SIGKILL)
        self.system.start(name)

    def _sigterm(self) -> None:
        """Stop one process as `systemctl stop` does; its configuration says if it leaves."""
        self._terminate([self.random_name()], most=2.0)

    def _sigterm_all(self) -> None:
        """Stop all processes one after another in random order, and start them in another order."""
        self._terminate(self.chance.sample(self.system.names, len(self.system.names)), most=2.0)

    def _terminate(self, names: list[str], most: float) -> None:
        self.say(f"SIGTERM {', '.join(names)}")
        for name in names:
            self.system.signal(name, signal.SIGTERM)
            self.pause(0.0, most)
        for name in names:
            if not self.wait_end(name):
                raise JoinprotoError(
                    f"{name} still runs {ENDS_SECONDS:g} s after SIGTERM",
                    next="look at its log",
                    code=1,
                )
        self.start_in_any_order(names)

    def start_in_any_order(self, names: Iterable[str]) -> None:
        chosen = list(names)
        self.chance.shuffle(chosen)
        for name in chosen:
            self.system.start(name)
            self.pause(0.0, 1.0)

    def _total_failure(self) -> None:
        """Kill all processes at once; then the operator recovers the cluster."""
        self.say("total failure")
        for name in self.chance.sample(self.system.names, len(self.system.names)):
            self.system.signal(name, signal.SIGKILL)
        self.system.recover(self)


KINDS = (
    "kill", "stop", "partition", "one_way", "link", "full_disk", "sigterm", "sigterm_all",
    "total_failure",
)  # fmt: skip
"""The common faults of all systems."""


def running_id(process: subprocess.Popen[bytes] | None) -> int | None:
    """Return the id of a process; None if it does not run."""
    return process.pid if process is not None and process.poll() is None else None
