"""Events of a RabbitMQ history: actions on the nodes while clients write.

Each event is a function that plays it and returns it as text.  A seed draws its nodes.  Clients
write only to members of the cluster: not to a node that was reset, forgotten, or started with an
empty disk.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem
from tools.histories.rabbitmq_nodes import Nodes, copy, full, remove

PAUSES_MS = (2, 10, 25)
# A node that does not serve this time after its start is killed.
COMES_UP_SECONDS = 20.0


@frozen
class Copy:
    """A copy of a node's directory that was made after `event` events; -1 for the formed node."""

    node: str
    path: Path
    event: int


@define
class Play:
    """The cluster of a history that is being played.

    `away`: members that are down and have their directory.  `strangers`: nodes to which no client
    writes any more.  `left`: members that went down, in order.  `copies`: copies of directories, as
    backups.  `fresh`: the number of events before each node's last start.  `lone`: the node that is
    cut off, or "".  `confirmed`: the number of confirmed messages in each queue.
    """

    nodes: Nodes
    chance: random.Random
    aside: Path
    running: set[str] = field(factory=set)
    away: set[str] = field(factory=set)
    strangers: set[str] = field(factory=set)
    left: list[str] = field(factory=list)
    copies: list[Copy] = field(factory=list)
    fresh: dict[str, int] = field(factory=dict)
    events: list[str] = field(factory=list)
    lone: str = ""
    clients: int = 0
    confirmed: Counter[str] = field(factory=Counter)

    def one(self, some: set[str]) -> str:
        return self.chance.choice(sorted(some))

    def some(self, some: set[str]) -> list[str]:
        return sorted(self.chance.sample(sorted(some), self.chance.randint(1, len(some))))

    @property
    def writable(self) -> set[str]:
        return self.running - self.strangers

    @contextmanager
    def clients_at(self, *chosen: str) -> Iterator[list[int]]:
        """Have a client declare exchanges on each of these nodes during the body."""
        started = []
        for node in chosen:
            self.clients += 1
            pause = self.chance.choice(PAUSES_MS)
            prefix = f"x-{self.clients}"
            started.append(
                self.nodes.control.write(full(node), self.nodes.cookie, prefix, pause_ms=pause)
            )
        yield started
        self.nodes.control.stop(*started)

    def pause(self, *seconds: float) -> None:
        time.sleep(self.chance.choice(seconds))

    def put_aside(self, node: str) -> None:
        """Keep a copy of the directory of a node that is down."""
        path = self.aside / str(len(self.copies)) / full(node)
        copy(self.nodes.directory(node), path)
        self.copies.append(Copy(node, path, len(self.events)))

    def went_down(self, *names: str) -> None:
        for node in names:
            self.running.discard(node)
            self.away.add(node)
            self.left.append(node)
            if self.chance.random() < 0.5:
                self.put_aside(node)

    def start(self, *names: str, seconds: float = COMES_UP_SECONDS) -> str:
        """Start nodes, and kill those that do not serve in time; return the outcome as text."""
        for node in names:
            self.fresh[node] = len(self.events)
        self.nodes.start(*names)
        self.nodes.come_up(*names, seconds=seconds)
        up = {node for node in names if self.nodes.is_up(node)}
        self.running |= up
        self.away -= up
        if waits := sorted({*names} - up):
            self.nodes.servers.kill(*waits)
            return (
                f"{_and(sorted(up))} up, {_and(waits)} not, and killed" if up else "killed: waits"
            )
        return "up"


def write(play: Play) -> str:
    """Clients declare exchanges for some time."""
    chosen = play.some(play.writable)
    before = len(play.nodes.control.acknowledged)
    with play.clients_at(*chosen):
        play.pause(0.3, 1.0, 2.5)
    count = len(play.nodes.control.acknowledged) - before
    play.pause(0, 0, 3.5)
    return f"{count} declared on {_and(chosen)}"


def publish(play: Play) -> str:
    """A client publishes persistent messages to each queue."""
    node = play.one(play.writable)
    confirmed = play.nodes.publish(node, play.chance.choice((20, 200)))
    play.confirmed.update(confirmed)
    counts = _and([f"{count} in {queue}" for queue, count in confirmed.items()])
    return f"confirmed on {node}: {counts}"


def stop(play: Play) -> str:
    """A node is stopped in order while a client writes, if another node can take writes."""
    node, client = play.one(play.running), play.one(play.writable or play.running)
    with play.clients_at(*({client} & play.writable)):
        play.pause(0.2, 0.8)
        play.nodes.stop(node)
        play.went_down(node)
    play.pause(0, 1.0)
    return f"{node} stopped in order under writes on {client}"


def kill(play: Play, *, all_of_them: bool = False) -> str:
    """Some nodes are killed at once, during writes."""
    chosen = sorted(play.running) if all_of_them else play.some(play.running)
    writers = play.some(play.writable) if play.writable else []
    with play.clients_at(*writers):
        play.pause(0.3, 1.2, 2.6, 3.9, 5.2)
        play.nodes.servers.kill(*chosen)
        play.pause(0, 0.7)
    play.went_down(*chosen)
    return f"{_and(chosen)} killed under writes on {_and(writers)}"


def kill_all(play: Play) -> str:
    return kill(play, all_of_them=True)


def leave(play: Play) -> str:
    """One node is stopped or killed, and clients continue at other nodes."""
    node = play.one(play.running)
    rest = play.writable - {node}
    is_stopped = play.chance.random() < 0.5
    with play.clients_at(*play.some(play.writable)):
        play.pause(0.2, 0.8)
        if is_stopped:
            play.nodes.stop(node)
        else:
            play.nodes.servers.kill(node)
        play.went_down(node)
        play.pause(0.3, 1.5)
    chosen = play.some(rest) if rest else []
    with play.clients_at(*chosen):
        play.pause(0.3, 1.5)
    how = "stopped in order" if is_stopped else "killed"
    return f"{node} {how} under writes; the others continued"


def down(play: Play) -> str:
    """All running nodes go down: at once, or by stops and kills in turn."""
    said = []
    if play.chance.random() < 0.4:
        return kill_all(play)
    while play.running:
        said.append(stop(play) if play.chance.random() < 0.6 else kill(play))
    return "; ".join(said)


def cut(play: Play) -> str:
    """The link between one node and the others is cut, and clients continue on both sides."""
    lone = play.one(play.running)
    others = sorted(play.running - {lone})
    with play.clients_at(*play.some(play.writable)):
        play.pause(0.2, 0.8)
        play.nodes.part(lone, *others)
        play.pause(0.5, 1.5)
    sides = [lone, play.chance.choice(others)]
    with play.clients_at(*sorted(set(sides) & play.writable)):
        play.pause(0.5, 2.0)
    play.lone = lone
    return f"{lone} cut off from {_and(others)}; both sides continued"


def mend(play: Play) -> str:
    """The link works again; no node is started again."""
    play.nodes.mend(play.running)
    play.lone = ""
    with play.clients_at(*play.some(play.writable)):
        play.pause(0.5, 1.5)
    return "the link mended, under writes"


def back(play: Play) -> str:
    """A node that was away returns to the running nodes; if none runs, several start together."""
    play.nodes.mend(play.running)
    play.lone = ""
    if play.running:
        node = play.one(play.away)
        return f"{node} started again: {play.start(node)}"
    chosen = play.some(play.away)
    return f"{_and(chosen)} started together: {play.start(*chosen)}"


def force(play: Play) -> str:
    """A node, if possible not the last that left, is forced, and perhaps a client writes to it."""
    last = play.left[-1]
    node = play.one(play.away - {last} or play.away)
    play.nodes.force(node)
    said = f"force_boot of {node} ({last} left last): {play.start(node)}"
    if node in play.writable:
        with play.clients_at(node):
            play.pause(0.5, 1.5, 3.0)
    return said


def wipe(play: Play) -> str:
    """The disk of a node that is down is lost."""
    node = play.one(play.away)
    remove(play.nodes.directory(node))
    play.away.discard(node)
    play.strangers.add(node)
    return f"the disk of {node} lost"


def blank(play: Play) -> str:
    """The disk of a node is lost, and the node starts with an empty disk, without clients."""
    node = play.one(play.away)
    remove(play.nodes.directory(node))
    play.strangers.add(node)
    return f"the disk of {node} lost, and {node} started: {play.start(node)}"


def old_copy(play: Play) -> str:
    """The directory of a node that is down is replaced by an older copy of it."""
    chosen = play.chance.choice(_older(play))
    remove(play.nodes.directory(chosen.node))
    copy(chosen.path, play.nodes.directory(chosen.node))
    return f"the directory of {chosen.node} replaced by a copy from after event {chosen.event}"


def forget(play: Play) -> str:
    """A running node is told to forget a node that is down."""
    node, other = play.one(play.writable), play.one(play.away)
    play.nodes.ctl(node, "forget_cluster_node", full(other))
    play.strangers.add(other)
    return f"{node} told to forget {other}"


def reset(play: Play) -> str:
    """A node leaves the cluster by a reset, and continues alone."""
    node = play.one(play.writable)
    for word in ("stop_app", "reset", "start_app"):
        play.nodes.ctl(node, word)
    play.strangers.add(node)
    return f"{node} reset, and started again by itself"


def _older(play: Play) -> list[Copy]:
    """Return copies of nodes that are down, which were made before the node's last start."""
    return [
        one for one in play.copies if one.node in play.away and one.event < play.fresh[one.node]
    ]


@frozen
class Event:
    """An event.  `do` plays it and returns a text about it; `can`: whether it can be played now."""

    do: Callable[[Play], str]
    can: Callable[[Play], bool]


EVENTS: Mapping[str, Event] = {
    "write": Event(write, lambda play: bool(play.writable)),
    "publish": Event(publish, lambda play: bool(play.writable)),
    "stop": Event(stop, lambda play: bool(play.running)),
    "kill": Event(kill, lambda play: bool(play.running)),
    "kill-all": Event(kill_all, lambda play: bool(play.running)),
    "leave": Event(leave, lambda play: len(play.running) > 1 and bool(play.writable)),
    "down": Event(down, lambda play: bool(play.running)),
    "cut": Event(cut, lambda play: len(play.running) > 1 and bool(play.writable) and not play.lone),
    "mend": Event(mend, lambda play: bool(play.lone) and bool(play.writable)),
    "back": Event(back, lambda play: bool(play.away - play.strangers)),
    "force": Event(force, lambda play: not play.running and bool(play.away)),
    "wipe": Event(wipe, lambda play: bool(play.away)),
    "blank": Event(blank, lambda play: bool(play.away)),
    "old-copy": Event(old_copy, lambda play: bool(_older(play))),
    "forget": Event(forget, lambda play: bool(play.writable) and bool(play.away)),
    "reset": Event(reset, lambda play: len(play.writable) > 1),
}


def played(play: Play, name: str) -> None:
    event = EVENTS[name]
    if not event.can(play):
        return
    try:
        said = event.do(play)
    except EnvironmentProblem as error:
        said = f"{name} refused: {' '.join(error.message.split())[-200:]}"
        # A node may have ended on its own.
        ended = {node for node in play.running if not play.nodes.is_up(node)}
        play.nodes.servers.kill(*(ended & play.nodes.servers.running.keys()))
        play.went_down(*sorted(ended))
    play.events.append(said)


def _and(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
