"""A simulated broker in virtual time: nodes, replicated queues, and answers of its API and tools.

The real members of a queue are those of its group.  The queue's list, which the API shows, is
written later, or without a change of the group, or not at all.  Each effect of a command is checked
against the claims:

    no queue loses its majority by a command
    the last replica that holds all entries is not dropped
    no replica is dropped that runs, or that the API called running less than `LOST_SECONDS` ago
    no queue gets a command if it had no leader in the last answer
    no queue has two commands under way
    no node takes part in more copies than the keeper allows

A program cannot know what has happened since it read the broker.  So some of these are checked only
if none of the queue's nodes has come or gone since then.

Source: reconciliation, Q4 and Q5; incidents 13, 15, 16, 29 and 30.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from attrs import define, field

COPIES = 2
LOST_SECONDS = 60.0
"""Seconds for which a node must be away before its replicas may be dropped."""
LATEST_SECONDS = 45.0
"""Seconds after its tool's end in which a command may still take effect; less than `settle`."""


@define(eq=False)
class Node:
    """A node.  `changed_at`: when it last started or ended.  `member`: it is in the cluster.

    `listed_at`: when the API last listed it as up.
    """

    name: str
    up: bool = True
    member: bool = True
    drained: bool = False
    changed_at: float = 0.0
    listed_at: float = -LOST_SECONDS


@define(eq=False)
class Replica:
    """A replica.  `has_all`: whether it has all committed entries.  `source`: the node from which a
    command copies it, or "".
    """

    has_all: bool = True
    votes: bool = True
    source: str = ""


@define(eq=False)
class Group:
    """One queue.  `leaderless_until`: no node leads before.  `pending`: commands under way.

    `is_led`: whether it had a leader when its replicas were last asked for.
    """

    name: str
    kind: str
    target: int
    replicas: dict[str, Replica]
    listed: set[str]
    shown_leader: str
    leaderless_until: float = 0.0
    pending: int = 0
    is_led: bool = False


@define
class Broker:
    """The broker.  `lost_writes`: how many of the next writes of lists are lost.

    `problems`: broken claims.
    """

    chance: Random
    now: float = 0.0
    nodes: dict[str, Node] = field(factory=dict)
    groups: dict[str, Group] = field(factory=dict)
    read_at: float = 0.0
    lost_writes: int = 0
    commands: int = 0
    commanded_at: float = 0.0
    problems: list[str] = field(factory=list)
    _running: list[Callable[[], None]] = field(factory=list)
    _heap: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _numbers: Any = field(factory=count)

    # -- time --------------------------------------------------------------------------------

    def schedule(self, delay: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (self.now + delay, next(self._numbers), do))

    def advance(self, seconds: float) -> None:
        """Let time pass, and run the events that are due."""
        until = self.now + seconds
        while self._heap and self._heap[0][0] <= until:
            self.now, _, do = heapq.heappop(self._heap)
            do()
        self.now = until

    # -- state ------------------------------------------------------------------------------

    def runs(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].up

    def has_majority(self, voters: list[str]) -> bool:
        return 2 * sum(map(self.runs, voters)) > len(voters)

    def voters(self, group: Group) -> list[str]:
        return sorted(name for name, one in group.replicas.items() if one.votes)

    def leader(self, group: Group) -> str | None:
        voters = self.voters(group)
        if self.now < group.leaderless_until or not self.has_majority(voters):
            return None
        able = [name for name in voters if self.runs(name) and group.replicas[name].has_all]
        return group.shown_leader if group.shown_leader in able else next(iter(able), None)

    # -- events ------------------------------------------------------------------------------

    def add_node(self, name: str) -> None:
        self.nodes[name] = Node(name, changed_at=self.now)

    def declare(self, name: str, kind: str, target: int, members: list[str]) -> None:
        self.groups[name] = Group(
            name, kind, target, {one: Replica() for one in members}, set(members), members[0]
        )

    def stop_node(self, node: Node) -> None:
        node.up, node.changed_at = False, self.now
        for group in self.groups.values():
            one = group.replicas.get(node.name)
            if one is not None:
                one.source = ""
                # If there is still a leader, the others go on without this replica.
                one.has_all = one.has_all and self.leader(group) is None
        self.schedule(self.chance.choice((0.0, 1.0, 10.0)), self.show_leaders)

    def start_node(self, node: Node) -> None:
        node.up, node.changed_at = True, self.now
        for group in self.groups.values():
            if node.name in group.replicas:
                self._copy(group, node.name)
        self.schedule(self.chance.choice((0.0, 1.0, 10.0)), self.show_leaders)

    def show_leaders(self) -> None:
        """Show the present leader of each queue in the API."""
        for group in self.groups.values():
            group.shown_leader = self.leader(group) or group.shown_leader

    def _copy(self, group: Group, name: str) -> None:
        """Make a replica catch up after some time, if there is a leader and its node is up."""

        def done() -> None:
            one = group.replicas.get(name)
            if one is None or one.has_all or not self.runs(name):
                return
            if self.leader(group) is None:
                self._copy(group, name)
                return
            one.has_all = one.votes = True
            one.source = ""
            self.show_leaders()

        self.schedule(self.chance.choice((0.1, 2.0, 8.0, 40.0)), done)

    # -- its answers ---------------------------------------------------------------------------

    def lists_key(self) -> object:
        """Return a key of both lists; the lists are equal if their keys are equal."""
        self.read_at = self.now
        for one in self.nodes.values():
            if one.up:
                one.listed_at = self.now
        return (
            [(one.name, one.up, one.drained, one.member) for one in self.nodes.values()],
            [
                (one.name, one.kind, one.shown_leader, one.target, frozenset(one.listed))
                for one in self.groups.values()
            ],
        )

    def api_nodes(self) -> list[dict[str, Any]]:
        return [
            {"name": one.name, "running": one.up, "being_drained": one.drained}
            for one in self.nodes.values()
            if one.member
        ]

    def api_queues(self) -> list[dict[str, Any]]:
        return [
            {
                "name": one.name,
                "vhost": "/",
                "type": one.kind,
                "leader": one.shown_leader,
                "members": sorted(one.listed),
                "online": sorted(filter(self.runs, one.listed)),
                "arguments": {"x-quorum-target-group-size": one.target},
            }
            for one in self.groups.values()
        ]

    def status(self, group: Group) -> list[dict[str, Any]]:
        leader = self.leader(group)
        group.is_led = leader is not None
        rows: list[dict[str, Any]] = []
        for name, one in sorted(group.replicas.items()):
            at = 9 if one.has_all else 3
            if group.kind == "stream":
                role = "writer" if name == leader else "replica"
                if self.runs(name):
                    rows.append({"node": name, "role": role, "offset": at, "committed_offset": 9})
                continue
            state = "leader" if name == leader else "follower"
            answers = self.runs(name)
            rows.append(
                {
                    "Node Name": name,
                    "Raft State": state if answers else "noproc",
                    "Membership": "voter" if one.votes else "promotable",
                    "Log Index": at if answers else "",
                    "Commit Index": 9 if answers else "",
                }
            )
        return rows

    # -- actions on it --------------------------------------------------------------------------

    def command(self, queue: str, verb: str, node: str, ends_in: float) -> None:
        """Take a command, which has its effect after some time even if its sender is killed.

        `ends_in`: seconds until its tool ends.
        """
        group, read_at = self.groups.get(queue), self.read_at
        self.commands, self.commanded_at = self.commands + 1, self.now
        if group is None:
            return
        if group.pending:
            self.problems.append(f"{queue}: {verb} {node} while another command is under way")
        if not group.is_led:
            self.problems.append(f"{queue}: {verb} {node} while no node leads")
        its = self.nodes[node]
        if verb != "add" and its.member and self.now - its.listed_at < LOST_SECONDS:
            self.problems.append(
                f"{queue}: {node} was dropped less than {LOST_SECONDS:g} s after it ran"
            )
        group.pending += 1

        def take_effect() -> None:
            if take_effect not in self._running:
                return
            self._running.remove(take_effect)
            group.pending -= 1
            if group is self.groups.get(queue):
                self._carry_out(group, verb, node, read_at)

        self._running.append(take_effect)
        self.schedule(
            self.chance.choice((0.0, 0.1, 1.0, 5.0, ends_in + LATEST_SECONDS)), take_effect
        )

    def tools_end(self) -> None:
        """End the running tools; their changes then have their effects in `LATEST_SECONDS`."""
        for take_effect in self._running:
            self.schedule(LATEST_SECONDS, take_effect)

    def _carry_out(self, group: Group, verb: str, node: str, read_at: float) -> None:
        leader, is_add = self.leader(group), verb == "add"
        is_steady = all(
            self.nodes[one].changed_at <= read_at for one in {*group.replicas, node} & {*self.nodes}
        )
        if leader is None:
            if self.chance.random() < 0.3:  # the list is written, and the group does not change
                self._write_list(group, node, is_add=is_add)
            return
        if (node in group.replicas) is is_add:
            return
        before = self.voters(group)
        if is_add:
            if not self.runs(node) or not self.nodes[node].member:
                return
            votes = self.chance.random() < 0.5
            group.replicas[node] = Replica(has_all=False, votes=votes, source=leader)
            self._copy(group, node)
        else:
            if group.kind == "stream" and not self.runs(node) and self.nodes[node].member:
                return
            gone = group.replicas.pop(node)
            self._judge_removal(group, node, gone, is_steady=is_steady)
        if is_steady and self.has_majority(before) and not self.has_majority(self.voters(group)):
            self.problems.append(f"{group.name}: {verb} {node} took the majority")
        self._judge_copies()
        self.schedule(
            self.chance.choice((0.0, 1.0, 20.0)),
            lambda: self._write_list(group, node, is_add=is_add),
        )

    def _judge_removal(self, group: Group, node: str, gone: Replica, *, is_steady: bool) -> None:
        if gone.has_all and not any(one.has_all for one in group.replicas.values()):
            self.problems.append(f"{group.name}: {node} was dropped, which alone held all entries")
        if is_steady and self.runs(node) and self.nodes[node].member:
            self.problems.append(f"{group.name}: {node} was dropped while it ran")

    def _judge_copies(self) -> None:
        at = [
            node
            for group in self.groups.values()
            for name, one in group.replicas.items()
            if one.source
            for node in (name, one.source)
        ]
        for node in sorted({*at}):
            if at.count(node) > COPIES:
                self.problems.append(f"{node} takes part in {at.count(node)} copies")

    def _write_list(self, group: Group, node: str, *, is_add: bool) -> None:
        if self.lost_writes and group.kind == "quorum":  # a stream's coordinator repeats its writes
            self.lost_writes -= 1
        elif is_add:
            group.listed.add(node)
        else:
            group.listed.discard(node)
