"""A history of Galera that is being played, and the events of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

from attrs import define, field

from tools.histories.galera_nodes import FREEZE, Clients, Nodes


@define
class Play:
    """A history while it is played.

    `primary`: the nodes of the primary component.  `others`: other running nodes: cut off, hung, or
    without a majority.  `hung`: frozen nodes.  `gone`: nodes whose disk is lost.
    """

    nodes: Nodes
    clients: Clients
    random: Random
    primary: list[str]
    others: list[str] = field(factory=list)
    events: list[str] = field(factory=list)
    hung: set[str] = field(factory=set)
    gone: set[str] = field(factory=set)

    def note(self, *words: str) -> None:
        self.events.append(" ".join(words))

    @property
    def down(self) -> list[str]:
        return [node for node in self.nodes.nodes if node not in (*self.primary, *self.others)]

    def one(self, among: list[str]) -> str:
        return self.random.choice(among)

    def shuffled(self, among: list[str]) -> list[str]:
        return self.random.sample(among, len(among))

    def perhaps(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance

    # -- clients

    def write(self, *nodes: str) -> None:
        """Insert a few rows at one node, or many rows at several nodes at once."""
        at = [*nodes] or self.random.sample(self.primary, self.random.randint(1, len(self.primary)))
        if self.perhaps(0.4):
            count = self.clients.insert_few(at[0], self.random.randint(1, 4))
            self.note(f"{count} rows acknowledged by {at[0]}")
            return
        with self.writes(*at):
            pass

    @contextmanager
    def writes(self, *nodes: str) -> Iterator[None]:
        """Have clients insert at these nodes before and during the body."""
        self.clients.start(*nodes)
        self.nodes.pause(self.random.uniform(0.3, 1.2))
        yield
        count = self.clients.end()
        self.note(f"{count} rows acknowledged by {listed(nodes)}")

    @contextmanager
    def perhaps_writes(self, *nodes: str) -> Iterator[None]:
        """Have clients insert at these nodes, or run the body without clients."""
        if nodes and self.perhaps(0.7):
            with self.writes(*nodes):
                yield
        else:
            yield

    # -- events

    def stop(self, node: str) -> None:
        """Stop a node in order; the others continue."""
        rest = [one for one in self.primary if one != node]
        was_in = node in self.primary
        with self.perhaps_writes(*(rest if was_in else ())):
            self.nodes.stop(node)
            self.primary = rest
            self.others = [one for one in self.others if one != node]
            self.note(f"{node} stopped in order")
            self.nodes.go_on(*self.primary)

    def stop_together(self, *nodes: str) -> None:
        """Stop nodes in order at once, as if a whole rack were shut down."""
        with self.perhaps_writes(*self.primary):
            for node in nodes:
                self.nodes.servers.running[node].terminate()
            for node in nodes:
                self.nodes.servers.wait(node)
            self.note(f"{listed(nodes)} stopped in order at one moment")
        self.primary = [one for one in self.primary if one not in nodes]
        self.others = [one for one in self.others if one not in nodes]
        self.nodes.go_on(*self.primary)

    def kill(self, *nodes: str) -> None:
        """Kill nodes at once, perhaps during writes; the rest continue if they are a majority."""
        majority = len(set(self.primary) - {*nodes}) * 2 > len(self.primary)
        with self.perhaps_writes(*self.primary):
            self.nodes.servers.kill(*nodes)
            self.note(f"{listed(nodes)} killed at one moment")
            left = [one for one in self.primary if one not in nodes]
            self.others = [one for one in self.others if one not in nodes]
            if majority:
                self.primary = left
                self.nodes.go_on(*left)
            else:
                self.primary, self.others = [], self.others + left
                self.nodes.hold_still(*left)

    def power_cut(self) -> None:
        """Kill all running nodes at once."""
        running = [*self.primary, *self.others]
        if running:
            with self.perhaps_writes(*self.primary):
                self.nodes.servers.kill(*running)
                self.note(f"{listed(running)} killed at one moment")
            self.primary, self.others = [], []

    def back(self, node: str) -> None:
        """Start a node that is down; it joins the serving nodes, or ends."""
        if self.nodes.launched(node):
            self.primary.append(node)
            self.nodes.go_on(*self.primary)
            self.note(f"{node} started again, and joined")
        else:
            self.note(f"{node} started again, and ended instead of joining")

    def found(self, node: str) -> None:
        """Found a cluster with a node by hand while all are down."""
        if self.nodes.founds(node):
            self.primary = [node]
            self.note(
                f"safe_to_bootstrap of {node} set to 1, {node} started with --wsrep-new-cluster"
            )
        else:
            self.note(f"{node} could not be started with --wsrep-new-cluster")

    def hang(self, *nodes: str) -> None:
        """Freeze nodes, as if they hung; the majority continues."""
        self.nodes.signal(FREEZE, *nodes)
        self.primary = [one for one in self.primary if one not in nodes]
        self.others += nodes
        self.hung |= {*nodes}
        self.nodes.go_on(*self.primary)
        self.note(f"{listed(nodes)} hung; {listed(self.primary)} went on")

    def cut(self, node: str) -> None:
        """Cut a node off; the majority continues."""
        self.nodes.set_provider(node, "gmcast.isolate=1")
        self.primary.remove(node)
        self.others.append(node)
        self.nodes.go_on(*self.primary)
        self.nodes.hold_still(node)
        self.note(f"{node} cut off; {listed(self.primary)} went on")

    def force(self, *nodes: str, writes: bool) -> None:
        """Make a minority primary by hand."""
        self.nodes.bootstrap(nodes[0])
        self.nodes.go_on(*nodes)
        self.note(
            f"{nodes[0]} forced with pc.bootstrap=YES: {listed(nodes)} serve besides the others"
        )
        if writes:
            self.write(*nodes)

    def everyday(self) -> None:
        """Write, or stop or kill a node and start it again."""
        choice = self.random.randrange(4)
        if choice == 0 or len(self.primary) < 3:
            self.write()
        elif choice == 1:
            node = self.one(self.primary)
            self.stop(node)
            self.write()
            self.back(node)
        elif choice == 2:
            node = self.one(self.primary)
            self.kill(node)
            self.back(node)
        else:
            self.write()

    def end(self) -> None:
        """End all nodes: by a power cut, or by orderly stops, perhaps with a kill at last."""
        if self.perhaps(0.4):
            self.power_cut()
            return
        if self.perhaps(0.2):
            self.stop_together(*self.primary)
            self._end_others()
            return
        order = self.shuffled(self.primary)
        for at, node in enumerate(order):
            is_last = at == len(order) - 1
            if is_last and self.perhaps(0.3):
                self.kill(node)
                continue
            if self.perhaps(0.3):
                self.write()
            self.stop(node)
        self._end_others()

    def _end_others(self) -> None:
        if self.others and not self.hung and self.perhaps():
            self.stop_together(*self.others)
        self.power_cut()


def listed(nodes: Sequence[str]) -> str:
    """Return the names of nodes as text for an event."""
    return " and ".join(nodes)
