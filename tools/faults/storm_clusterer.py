"""Nodes of the Clusterer in a storm: several get configs at once, and during transitions.

Some of these configs are two contents of one version.  The claims: no version ever decreases on a
node's disk; at the end, all nodes are ready and have the gospel's messages and no other messages.
Processes, TCP, disks and kills are real.  Each node manages a broker, which is a process with a
file of messages.
"""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from attrs import Factory, define, field

from joinproto.clusterer.config import Config
from joinproto.errors import MisuseError
from joinproto.net.addresses import Address
from tools.faults.clusterer import Fleet
from tools.faults.network import Network
from tools.faults.storm import Storm, StormVerdict, System, running_id

WAIT_SECONDS = 3.0
MESSAGES = 5


class Links(Network):
    """The links between the nodes of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.names, self._fleet = fleet.names, fleet

    def host(self, name: str) -> str:
        return "127.0.0.1"

    def address(self, caller: str, called: str) -> Address:
        raise MisuseError("a fleet of the Clusterer writes its own addresses", next="use the fleet")

    def drop(self, sender: str, receiver: str) -> None:
        self._fleet.links[sender, receiver].cut(back=False)
        self._fleet.links[receiver, sender].cut(there=False)

    def heal(self) -> None:
        self._fleet.heal()

    def close(self) -> None:
        """The fleet closes its links."""


@define
class Clusterer(System):
    """The nodes.

    `keeper`: the gospel of all configs.  `label`: the label of its data.  `messages`: the messages
    that all brokers acknowledged when all nodes were ready with one config.

    The keeper is killed and cut off like the others.  It is also reset during a transition, if all
    others have its data.  While it is `blank`, only nodes with its former data get configs, and
    all these configs name a `witness`.  A config that the blank machine gets would name the
    blank machine's data as the gospel, and the data of a node that is left out do not count.
    """

    fleet: Fleet
    network: Network = field(init=False)
    version: int = 1
    label: str = ""
    blank: bool = False
    witness: str = ""
    messages: list[str] = Factory(list)
    end = "no version decreased, the gospel's data are there, and all nodes are ready"

    def __attrs_post_init__(self) -> None:
        self.network = Links(self.fleet)

    @classmethod
    def make(cls, top: Path, names: str, mutant: str | None) -> Clusterer:
        return cls(Fleet(top, tuple(names), mutant=mutant))

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.fleet.names

    @property
    def keeper(self) -> str:
        return self.fleet.names[0]

    @property
    def others(self) -> list[str]:
        return list(self.fleet.names[1:])

    def own_faults(self, storm: Storm) -> Mapping[str, Callable[[], None]]:
        faults = (self.apply, self.apply_apart, self.reset, self.replace)
        return {fault.__name__: partial(fault, storm) for fault in faults}

    # -- processes -----------------------------------------------------------------------------

    def start(self, name: str) -> None:
        self.fleet.start(name)

    def process(self, name: str) -> int | None:
        return running_id(self.fleet.running.get(name))

    def signal(self, name: str, number: int) -> None:
        if number == signal.SIGKILL:
            self.fleet.kill(name)
        elif self.process(name) is not None:
            self.fleet.running[name].send_signal(number)

    def fill_disk(self, name: str) -> None:
        if (process := self.process(name)) is not None:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, 0))

    def close(self) -> None:
        self.fleet.close()

    # -- forming -------------------------------------------------------------------------------

    def form(self, storm: Storm) -> None:
        """Start all nodes; reset the gospel, and give it a newer config, which names its new data.

        The gospel is cut off until it has data: otherwise the others would give it theirs.
        """
        fleet, keeper = self.fleet, self.keeper
        first = self._config(fleet.names)
        for name in fleet.names:
            fleet.start(name, first if name == keeper else None)
        fleet.until_ready(fleet.names, self.version)
        storm.say(f"reset {keeper}, the gospel, which comes back with a younger config")
        fleet.cut([keeper], self.others)
        fleet.reset(keeper)
        fleet.start(keeper)
        fleet.until_ready([keeper], 0)
        self.label = str(fleet.label(keeper))
        self.version += 1
        fleet.stop(keeper)
        fleet.heal()
        fleet.start(keeper, self._config(fleet.names))
        fleet.until_ready(fleet.names, self.version)
        for name in fleet.names:
            if fleet.label(name) != self.label:
                raise AssertionError(
                    f"{name} has the data {fleet.label(name)}, expected {self.label}, which"
                    f" {keeper} had when it got the config"
                )
        self._publish()

    def _publish(self) -> None:
        """Publish some messages, each of which all nodes' brokers must acknowledge."""
        for _ in range(MESSAGES):
            self.messages.append(f"message {len(self.messages)}")
            for name in self.fleet.names:
                if not self.fleet.publish(name, self.messages[-1]):
                    raise AssertionError(f"{name} is ready, and its broker acknowledges no message")

    def _config(self, names: tuple[str, ...]) -> Config:
        nodes = frozenset({*names, self.keeper, self.witness} - {""})
        return Config(self.version, nodes, gospel=self.keeper, shutdown_timeout=1_000)

    # -- its own faults ------------------------------------------------------------------------

    def apply(self, storm: Storm) -> None:
        """Give configs to several nodes at once; each names the gospel and random other nodes."""
        self._apply(storm, self._nodes_for_config())

    def apply_apart(self, storm: Storm) -> None:
        """Give configs while one node is cut off from others; perhaps kill a node, too."""
        victim = storm.random_name()
        away = [name for name in self.fleet.names if name != victim]
        far = storm.chance.sample(away, storm.chance.randint(1, len(away)))
        storm.say(f"cut {victim} from {' '.join(sorted(far))}")
        self.fleet.cut([victim], far)
        self.apply(storm)
        if storm.chance.random() < 0.5:
            storm.faults["kill"]()
        storm.pause(0.0, 2.0)

    def reset(self, storm: Storm) -> None:
        """Reset a node, but not the gospel, and none while the gospel is blank."""
        if not self.is_blank():
            victim = storm.chance.choice(self.others)
            storm.say(f"reset {victim}")
            self.fleet.reset(victim)

    def replace(self, storm: Storm) -> None:
        """Reset the gospel while the others go to another config."""
        if self.is_blank():
            return
        storm.calm()
        self.witness = storm.chance.choice(self.others)
        self._apply(storm, self.others)
        storm.pause(0.0, 0.4)
        storm.say(f"reset {self.keeper}, the gospel")
        self.fleet.reset(self.keeper)
        self.blank = True
        if storm.chance.random() < 0.5:
            victim = storm.chance.choice(self.others)
            storm.say(f"kill -9 {victim}")
            self.fleet.kill(victim)
        self.fleet.start(self.keeper)

    def is_blank(self) -> bool:
        """Return whether the gospel was reset, and has not yet got its data from the others.

        Data on its disk are not enough: if it is killed before it is ready, it removes them.
        """
        status = self.fleet.status(self.keeper) if self.blank else None
        is_ready = status is not None and status["status"] == "ready"
        if is_ready and self.fleet.label(self.keeper) == self.label:
            self.blank, self.witness = False, ""
        return self.blank

    def _nodes_for_config(self) -> list[str]:
        """Return the nodes that may get a config."""
        if not self.is_blank():
            return list(self.fleet.names)
        return [name for name in self.fleet.names if self.fleet.label(name) == self.label]

    def _apply(self, storm: Storm, informed: list[str]) -> None:
        fleet, chance = self.fleet, storm.chance
        if not informed:
            raise AssertionError(f"no node has the gospel's data any more: {self.label}")
        at = chance.sample(informed, chance.randint(1, min(3, len(informed))))
        wanted = []
        for name in at:
            # Sometimes one version gets two contents: a node that waits then ends, and a ready
            # node keeps its own.
            self.version += chance.random() < 0.8 or name == at[0]
            some = chance.sample(fleet.names, chance.randint(2, len(fleet.names)))
            wanted.append((name, self._config(tuple(some))))
        storm.say("; ".join(f"{config} at {name}" for name, config in wanted))
        threads = [Thread(target=fleet.apply, args=one, daemon=True) for one in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)

    # -- claims -------------------------------------------------------------------------------

    def settle(self, storm: Storm, seconds: float) -> None:
        """Make all nodes ready by one more config, and check that all have the gospel's data."""
        fleet = self.fleet
        fleet.until("the gospel answers", lambda: fleet.status(self.keeper) is not None, seconds)
        if not self.is_blank() and fleet.label(self.keeper) != self.label:
            raise AssertionError(
                f"the gospel {self.keeper} has the data {fleet.label(self.keeper)}, expected"
                f" {self.label}"
            )
        self.version += 1
        last = self._config(fleet.names)
        end = time.monotonic() + seconds
        while not all(fleet.is_ready(name, self.version) for name in fleet.names):
            for name in fleet.names:
                fleet.start(name)  # a node that got two contents of one version may have ended
            fleet.apply(next(iter(self._nodes_for_config()), self.keeper), last)
            if time.monotonic() > end:
                raise AssertionError(f"not all nodes are ready at the end:\n{fleet.statuses()}")
            time.sleep(0.5)
        wanted = [self.label, *self.messages]
        for name in fleet.names:
            if (found := fleet.data(name)) != wanted:
                lost = len(set(wanted) - set(found))
                raise AssertionError(
                    f"{name} has the data {found[:1]} with {len(found)} lines, expected"
                    f" {self.label} with {len(wanted)} lines; {lost} of these are lost"
                )
        self.is_blank()
        self._publish()

    def judge(self) -> StormVerdict:
        """Report where a version decreased on a disk, by the nodes' event logs."""
        highest: dict[str, int] = {}
        problems = []
        runs = self.fleet.events()
        for run, lines in sorted(runs.items(), key=_start_time):
            for line in lines:
                if line["kind"] != "stored":
                    continue
                node = str(line["identity"]).partition("+")[0]
                if line["version"] < highest.get(node, 0):
                    problems.append(
                        f"{run}: version {line['version']} was stored after {highest[node]}"
                    )
                highest[node] = max(line["version"], highest.get(node, 0))
        facts = {"configs": self.version, "runs": len(runs), "messages": len(self.messages)}
        return StormVerdict(tuple(problems), facts)


def _start_time(item: tuple[str, list[dict[str, Any]]]) -> int:
    return int(item[1][0]["t"]) if item[1] else 0
