"""The members of the worlds of discovery: nodes that start, a service and the network's links.

The rules are the shipped ones (`joinproto.discovery.round.decide`).  An exchange of messages is one
step here: a round reads the answers of all nodes that answer, a join succeeds at once, and a
founding gets all its votes at once (the worlds of the join protocol search the single steps).  A
round and its consequence are two steps, so other nodes may act in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Rule
from joinproto.codec.json_form import filled
from joinproto.discovery.answers import Answer
from joinproto.discovery.boot import Rules, Step
from joinproto.discovery.round import Properties, Round, decide, majority_of, named
from joinproto_worlds.mutations.named import mutated


class Stage(Enum):
    """The stage of a node."""

    OFF = "off"
    BOOTS = "boots"
    DECIDED = "decided"
    RUNS = "runs"  # it has a database, its own or that of a cluster
    ENDED = "ended"


@frozen
class Cluster:
    """A database.  `founder`: the node that made it; `disk`: the number of that node's disk."""

    founder: str
    disk: int = 0

    def __str__(self) -> str:
        return f"the cluster of {self.founder}" + ("'" * self.disk)


@frozen
class Begins:
    """Event: a node begins.  `order`: how many nodes began before."""

    order: int


@frozen
class Looks:
    """Event: a round, with the backend's answer and the properties of each node that answers.

    `last`: no try is left after this round.
    """

    answer: Answer
    seen: tuple[tuple[str, Properties], ...]
    last: bool = False

    def __str__(self) -> str:
        said = ", ".join(name for name, _ in self.seen)
        last = "; it is the last try" if self.last else ""
        return f"{self.answer}; {said or 'no node'} answers{last}"


@frozen
class Joins:
    """Event: a node joins this cluster; None if no cluster is left to join."""

    cluster: Cluster | None


@frozen
class Votes:
    """Event: a node votes for a cluster, durably; it never votes for another cluster."""

    cluster: Cluster


@frozen
class Founds:
    """Event: a node has this many votes for its cluster, its own included."""

    cluster: Cluster
    votes: int


@frozen
class NodeView:
    """The observation of a node.  `asks`: the nodes that it asks for votes."""

    stage: Stage
    order: int
    disk: int
    target: str | None
    step: Step | None
    cluster: Cluster | None
    vote: Cluster | None
    asks: frozenset[str]


@define
class Node:
    """A node that starts.  `tries`: how many rounds are left after the next; None means without
    end.  `expected`: how many members there will be.
    """

    name: str
    rules: Rules
    tries: int | None
    expected: int | None
    mutant: str | None = None
    stage: Stage = Stage.OFF
    order: int = 0
    disk: int = 0
    target: str | None = None
    step: Step | None = None
    cluster: Cluster | None = None
    vote: Cluster | None = None
    asks: frozenset[str] = frozenset()

    def shows(self) -> NodeView:
        return filled(NodeView, self)

    def choices(self) -> Iterator[str]:
        if self.stage is Stage.DECIDED and self.step is Step.ALONE:
            yield "stands alone"

    @mutated
    def receive(self, event: Any) -> Any:
        match event:
            case Begins(order) if self.stage is Stage.OFF:
                self.stage, self.order = Stage.BOOTS, order
            case Looks() if self.stage is Stage.BOOTS:
                return self._look(event)
            case "stands alone" if self.step is Step.ALONE:
                self._run(Cluster(self.name, self.disk))
            case Joins(None) if self.stage is Stage.DECIDED:
                return self._ask_again()
            case Joins(Cluster() as cluster) if self.stage is Stage.DECIDED:
                self._run(cluster)
            case Votes(cluster) if self.vote in (None, cluster):
                self.vote = cluster
            case Founds(cluster, votes) if votes >= majority_of(self.expected or 0):
                self.vote = cluster
                self._run(cluster)
            case "is wiped" if self.stage is Stage.RUNS:
                self.stage, self.disk = Stage.OFF, self.disk + 1
                self.cluster = self.vote = None
            case _:
                return NOT_ENABLED
        return None

    def _look(self, event: Looks) -> Any:
        round_ = Round(
            me=self.name,
            answer=event.answer,
            seen=dict(event.seen),
            tries=0 if event.last else self.tries,
            expected=self.expected,
        )
        found = decide(round_, self.rules)
        rules = [Rule(f"{self.rules.value}: {found.case.name}")]
        if found.step in (Step.RETRY, Step.WAIT):
            if found.step is Step.RETRY and self.tries:
                self.tries -= 1
            return rules
        if found.step in (Step.CRASH, Step.REFUSE):
            self.stage = Stage.ENDED
            return rules
        self.stage, self.step, self.target = Stage.DECIDED, found.step, found.node
        if found.step is Step.FOUND:
            self.asks = frozenset((self.name, *named(event.answer)))
        return rules

    def _ask_again(self) -> Any:
        self.asks = frozenset()
        if self.tries == 0:
            self.step, self.target = Step.ALONE, None
            return None
        self.stage, self.step, self.target = Stage.BOOTS, None, None
        if self.tries is not None:
            self.tries -= 1
        return None

    def _run(self, cluster: Cluster) -> None:
        self.stage, self.cluster, self.step, self.target = Stage.RUNS, cluster, None, None
        self.asks = frozenset()


@define
class Service:
    """The state of a backend.  `records`: the registered nodes, in the order of registration.

    `lapses`: how many records it may lose.  `locks`: a node that begins takes the lock, and gives
    it back when it registers; `holder`: the node that has the lock.
    """

    records: tuple[str, ...] = ()
    lapses: int = 0
    locks: bool = False
    holder: str | None = None

    def receive(self, event: Any) -> Any:
        match event:
            case ("register", name):
                self.records = (*(one for one in self.records if one != name), name)
                self.holder = None if self.holder == name else self.holder
            case ("lock", name):
                self.holder = name
            case ("unlock",):
                self.holder = None
            case ("lapse", name) if self.lapses and name in self.records:
                self.lapses -= 1
                self.records = tuple(one for one in self.records if one != name)
            case _:
                return NOT_ENABLED
        return None


@define
class Links:
    """The groups of nodes that are cut off from all others; empty when the network has healed."""

    groups: tuple[frozenset[str], ...] = ()

    def choices(self) -> Iterator[str]:
        if self.groups:
            yield "heals"

    def receive(self, event: Any) -> Any:
        if event != "heals":
            return NOT_ENABLED
        self.groups = ()
        return None
