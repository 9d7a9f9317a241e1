"""Machines, links and brokers around hosts of the Clusterer, in memory and virtual time.

The host, its steps, its files and their codec are real.  These are simulated: disks, which lose
unsynced data; links, which keep the order of messages and end when they are cut; and brokers, which
keep a labelled list of messages and send each other new ones.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

from attrs import Factory, define, field

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.host import ConfigRequest, Host
from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.clusterer.network import Network, Timing
from joinproto.apps.clusterer.service import Booting, ServiceFailed, ServiceStatus
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import (
    QUESTION_OF,
    Answer,
    Boot,
    Content,
    Question,
    Stop,
    token_of,
)
from joinproto.clusterer.reading import Release
from joinproto.clusterer.state import Who
from joinproto.durable.filesystem import make_directories
from joinproto.errors import JoinprotoError
from joinproto.host.eventlog import NoLog
from joinproto.swarm.disk import Disk

PLACE = Path("/node/data")
TIMING = Timing(poll=0.5, poke=2.0, retry=1.0)
CODED = 0.1
"""The share of messages that are encoded to bytes and decoded."""


class Killed(BaseException):
    """The process was killed, so no task of it continues."""


@define
class Broker:
    """A broker: its data on a machine's disk, and whether it runs.

    `label`: its set of data.  `kept`: its messages.  `members`: the nodes of its cluster; two
    brokers are in one cluster if each has the other.
    """

    name: str
    machines: Machines
    label: str = ""
    kept: list[int] = Factory(list)
    members: set[str] = Factory(set)
    runs: bool = False
    paused: bool = False

    @property
    def serves(self) -> bool:
        return self.runs and not self.paused

    def peers(self) -> list[Broker]:
        """Return the reachable brokers of its cluster that serve and have the same data."""
        return [
            one.broker
            for one in self.machines.all.values()
            if one.broker is not self
            and one.broker.serves
            and one.broker.label == self.label
            and one.name in self.members
            and self.name in one.broker.members
            and self.machines.links.are_open(self.name, one.name)
        ]

    def publish(self, number: int) -> list[str]:
        """Publish a message; return the machines that have it then."""
        have = [self, *self.peers()]
        for one in have:
            one.kept.append(number)
        return [one.name for one in have]

    # -- the port ----------------------------------------------------------------------------

    def boot(self, booting: Booting) -> None:
        running = {name: says["label"] for name, says in booting.running.items() if "label" in says}
        there = {
            name: label
            for name, label in running.items()
            if self.machines.all[name].broker.serves
            and self.machines.links.are_open(self.name, name)
        }
        if booting.how in (Boot.JOIN, Boot.OWN) and not there:
            raise ServiceFailed("no running node to boot with", next="the node asks again")
        if self.label and booting.how is Boot.OWN and self.label not in there.values():
            raise ServiceFailed(
                "its data are not those of the running nodes", next="wipe one of them"
            )
        if not self.label and there:
            self.label = there[min(there)]
        elif not self.label:
            self.label = self.machines.new_label(self.name)
        was_in = set() if booting.how is Boot.FOUND else self.members - booting.forget
        self.members = was_in | {self.name}
        others = [self.machines.all[name].broker for name in sorted(there)]
        same = [one for one in others if one.label == self.label]
        if same:
            self.members = max(same, key=lambda one: len(one.members)).members
            self.members.add(self.name)
        self.runs = True
        self.paused = False
        if booting.how is not Boot.FOUND:  # a founding broker boots alone
            self.copy({*there})

    def copy(self, sources: set[str] | None = None) -> None:
        """Copy the messages of a running peer among `sources`; None means any peer."""
        if peers := [one for one in self.peers() if sources is None or one.name in sources]:
            self.kept = list(peers[0].kept)

    def handle_partition(self) -> None:
        """Take over the longer list of members of a peer, and copy a peer's messages.

        Peers that were apart may each have dropped a member that has joined the other since.
        """
        for peer in self.peers():
            if len(peer.members) > len(self.members):
                self.members = peer.members
        self.copy()

    def resume(self) -> None:
        if self.paused:
            self.paused = False
            self.copy()

    def stop(self, *, leaves: bool) -> None:
        self.runs = self.paused = False

    def wipe(self) -> None:
        self.machines.wiping(self)
        self.label, self.kept, self.members = "", [], set()

    def status(self) -> ServiceStatus:
        says = {"label": self.label} if self.runs else {}
        return ServiceStatus(runs=self.runs, paused=self.paused, says=says)

    def forget(self, nodes: frozenset[str]) -> None:
        """Remove nodes from the members, at this broker and its peers but not at these nodes."""
        together = [self, *self.peers()]
        members = self.members - nodes
        for one in together:
            if one.name not in nodes:
                one.members = members

    def end(self) -> None:
        """Do nothing: `stop` has already ended the broker."""


@define(eq=False)
class Process:
    """One run of a node.  `unanswered`: sent questions, each with how often it was sent."""

    host: Host
    chance: Random
    task: asyncio.Task[None] | None = None
    is_dead: bool = False
    unanswered: dict[tuple[str, type, int], list[Any]] = Factory(dict)

    async def blocking(self, do: Callable[[], Any]) -> Any:
        """Do the work after some virtual time, unless the process was killed."""
        await asyncio.sleep(self.chance.choice((0.0, 0.0, 0.0, 0.005, 0.05, 1.0)))
        if self.is_dead:
            raise Killed
        return do()


@define(eq=False)
class Machine:
    """A machine with its node.  `ended`: how the last run ended; `ended_with`: its version then."""

    name: str
    machines: Machines
    disk: Disk = field(init=False)
    broker: Broker = field(init=False)
    process: Process | None = None
    ended: str = ""
    ended_with: int = -1

    def __attrs_post_init__(self) -> None:
        self.disk, self.broker = Disk(self.machines.chance), Broker(self.name, self.machines)

    @property
    def host(self) -> Host | None:
        return None if self.process is None else self.process.host

    @property
    def is_left_out(self) -> bool:
        """Return whether the node has ended by itself because a config does not name it."""
        return self.ended.startswith(
            ("the config does not name this node", "this node's shutdown_timeout")
        )

    @property
    def is_ready(self) -> bool:
        return self.host is not None and self.host.state.runs

    @property
    def version(self) -> int:
        held = None if self.host is None else self.host.state.held
        return -1 if held is None else held.config.version

    def start(self, given: Config | None) -> None:
        if self.process is not None:
            return
        make_directories(self.disk, PLACE.parent, above=True)
        machines = self.machines
        host = Host(
            who=Who(self.name, release=machines.release),
            stored=StoredConfig(PLACE, machines.release, self.disk),
            members=MembersFile(PLACE, self.disk),
            service=self.broker,
            timing=TIMING,
            events=NoLog(),
            fresh=f"{self.name}-{machines.next_number('run')}",
            given=given,
        )
        process = self.process = Process(host, machines.chance)
        host.blocking = process.blocking
        host.network = cast(Network, _Port(self, process))
        process.task = asyncio.ensure_future(self._run(process))

    async def _run(self, process: Process) -> None:
        try:
            await process.host.run()
            ended = process.host.ended or ""
        except Killed:
            return
        except asyncio.CancelledError:
            return
        except JoinprotoError as error:
            ended = f"failed: {error.message}"
        except Exception as error:  # noqa: BLE001  reported as a fault
            ended = f"failed: {type(error).__name__}: {error}"
            self.machines.faults.append(f"{self.name}: {ended}")
        if self.process is process and not process.is_dead:
            self.ended_with = self.version
            self.process, self.ended = None, ended
            process.is_dead = True
            self.disk.process_ends()
            self.machines.links.down(self.name)

    def stop(self) -> None:
        if self.host is not None:
            self.host.post(Stop("stopped"))

    def kill(self, *, why: str = "killed") -> None:
        """Kill the node as by SIGKILL; its broker runs on."""
        process = self.process
        if process is None or process.task is None:
            return
        process.is_dead, self.process, self.ended = True, None, why
        process.task.cancel()
        boot = process.host._boot
        if boot is not None:
            boot.cancel()
        self.disk.process_ends()
        self.machines.links.down(self.name)

    def lose_power(self, chance: Random) -> None:
        self.kill(why="lost power")
        self.broker.runs = self.broker.paused = False
        self.disk = self.disk.copied(lambda: chance.random() < 0.5)

    def reset(self) -> None:
        self.kill(why="reset")
        self.disk, self.broker = Disk(self.machines.chance), Broker(self.name, self.machines)

    def apply(self, config: Config) -> asyncio.Future[Answer] | None:
        if self.host is None:
            return None
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.host.post(ConfigRequest(config, answer, lambda: False))
        return answer


@define
class _Port:
    """The network port of a host, in place of `Network`."""

    machine: Machine
    process: Process

    def send(self, to: str, content: Content) -> None:
        if self.process.is_dead:
            return
        if isinstance(content, Question):
            key = (to, type(content), token_of(content))
            self.process.unanswered.setdefault(key, [content, 0])[1] += 1
        self.machine.machines.links.send(self.machine.name, to, content)


@define
class Links:
    """All links.  `cut`: pairs that are cut; `epochs`: how often a pair's connection has ended.

    `half_open`: (node, peer) for nodes that have not noticed yet that the peer's end is closed.
    `due`: (sender, receiver) to the arrival of its last message, in seconds.
    """

    machines: Machines
    chance: Random
    cut: set[frozenset[str]] = Factory(set)
    epochs: Counter[frozenset[str]] = Factory(Counter)
    half_open: set[tuple[str, str]] = Factory(set)
    due: dict[tuple[str, str], float] = Factory(dict)

    def are_open(self, one: str, other: str) -> bool:
        return frozenset((one, other)) not in self.cut

    def _is_up(self, one: str, other: str) -> bool:
        for name in (one, other):
            machine = self.machines.all.get(name)
            if machine is None or machine.process is None:
                return False
        return self.are_open(one, other)

    def send(self, one: str, to: str, content: Content) -> None:
        if (one, to) in self.half_open:
            return  # the message is lost, and the sender does not notice it
        loop, pair = asyncio.get_running_loop(), frozenset((one, to))
        late = self.chance.choice((0.001, 0.004, 0.02, 0.3))
        if not self._is_up(one, to):
            loop.call_later(
                late, self._report_unreachable, one, to, content, self.machines.all[one].process
            )
            return
        at = self.due[one, to] = max(self.due.get((one, to), 0.0), loop.time() + late)
        loop.call_at(at, self._deliver, one, to, content, self.epochs[pair])

    def _deliver(self, one: str, to: str, content: Content, epoch: int) -> None:
        process = self.machines.all[to].process
        if process is None or self.epochs[frozenset((one, to))] != epoch:
            return
        self._notice(to, one, process)
        if self.chance.random() < CODED:
            content = wire.taken(wire.put(content), self.machines.release)
        asks = QUESTION_OF.get(type(content))
        if asks is not None:
            process.unanswered.pop((one, asks, token_of(cast(Question, content))), None)
        process.host.message(one, content)

    def _report_unreachable(
        self, one: str, to: str, content: Content, process: Process | None
    ) -> None:
        if process is None or process.is_dead:
            return
        if isinstance(content, Question):
            process.unanswered.pop((to, type(content), token_of(content)), None)
            process.host.lost(to, content)
        process.host.down(to)

    def _break(self, one: str, other: str) -> None:
        """End a connection; each side notices it a little later, and asks its questions again."""
        self.epochs[frozenset((one, other))] += 1
        self.half_open -= {(one, other), (other, one)}
        for me, peer in ((one, other), (other, one)):
            process = self.machines.all[me].process
            if process is not None:
                late = self.chance.choice((0.0, 0.01, 1.0))
                asyncio.get_running_loop().call_later(late, self._end_link, me, peer, process)

    def _end_link(self, me: str, peer: str, process: Process) -> None:
        if process.is_dead:
            return
        process.host.down(peer)
        for key, (content, sent) in list(process.unanswered.items()):
            if key[0] != peer:
                continue
            if sent > 1:
                del process.unanswered[key]
                process.host.lost(peer, content)
            else:
                process.unanswered[key][1] += 1
                self.send(me, peer, content)

    def down(self, name: str) -> None:
        for other in self.machines.all:
            if other != name:
                self._break(name, other)

    def lose(self, one: str, other: str) -> None:
        """End a connection at one node; the other node notices it later."""
        (ends, stays) = (self.machines.all[name].process for name in (one, other))
        is_whole = not self.half_open & {(one, other), (other, one)}
        if ends is None or stays is None or not is_whole or not self._is_up(one, other):
            return
        self.epochs[frozenset((one, other))] += 1
        self.half_open.add((other, one))
        late = self.chance.choice((0.01, 1.0, 5.0))
        asyncio.get_running_loop().call_later(late, self._notice, other, one, stays)
        self._end_link(one, other, ends)

    def _notice(self, me: str, peer: str, process: Process) -> None:
        if (me, peer) in self.half_open and self.machines.all[me].process is process:
            self.half_open.remove((me, peer))
            self._end_link(me, peer, process)

    def cut_pair(self, one: str, other: str) -> None:
        if self.are_open(one, other):
            self.cut.add(frozenset((one, other)))
            self._break(one, other)

    def heal(self) -> None:
        self.cut.clear()


@define
class Machines:
    """All machines of one run.  `faults`: errors, as sentences.

    `wiping`: called before a broker's data are wiped.
    """

    names: str
    chance: Random
    release: Release = Release.SEED
    all: dict[str, Machine] = Factory(dict)
    links: Links = field(init=False)
    faults: list[str] = Factory(list)
    wiping: Callable[[Broker], None] = field(default=lambda _: None)
    _numbers: Counter[str] = Factory(Counter)

    def __attrs_post_init__(self) -> None:
        self.links = Links(self, self.chance)
        self.all = {name: Machine(name, self) for name in self.names}

    def next_number(self, kind: str) -> int:
        self._numbers[kind] += 1
        return self._numbers[kind]

    def new_label(self, name: str) -> str:
        return f"{name}/{self.next_number('label')}"
