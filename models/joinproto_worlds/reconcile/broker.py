"""A queue in the simulated broker: its group, its list, and answers of the API and the tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Replica, replicas_of

Names = frozenset[str]


@frozen(cache_hash=True)
class Group:
    """A queue.  `listed`: replicas in the list; `unlisted`: changes that the list lacks; `asked`:
    commands under way.
    """

    name: str
    kind: str
    voters: Names
    listed: Names
    learners: Names = frozenset()
    unlisted: tuple[tuple[str, str], ...] = ()
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def replicas(self) -> Names:
        return self.voters | self.learners

    def commands(self) -> Iterator[tuple[Group, str, str]]:
        """Yield each command that is under way, and the queue without it."""
        for at, (verb, node) in enumerate(self.asked):
            yield evolve(self, asked=self.asked[:at] + self.asked[at + 1 :]), verb, node

    def changed(self, verb: str, node: str, *, learns: bool) -> Group:
        """Return the queue after a command, which may have no effect.

        `learns`: a new replica has no vote at first.
        """
        if (node in self.replicas) is (verb == "add"):
            return self
        noted = evolve(self, unlisted=(*self.unlisted, (verb, node)))
        if verb != "add":
            return evolve(noted, voters=self.voters - {node}, learners=self.learners - {node})
        if learns:
            return evolve(noted, learners=self.learners | {node})
        return evolve(noted, voters=self.voters | {node})

    def with_list_changed(self, verb: str, node: str) -> Group:
        """Return the queue with this change made in its list."""
        listed = self.listed | {node} if verb == "add" else self.listed - {node}
        return evolve(self, listed=listed)

    def row(self, nodes: Iterable[str]) -> dict[str, object]:
        """Return the API's row about the queue; `nodes`: the nodes that run."""
        return {
            "name": self.name,
            "vhost": "/",
            "type": self.kind,
            "leader": "a",  # as of some seconds ago
            "members": sorted(self.listed),
            "online": sorted(self.listed & set(nodes)),
            "arguments": {},
        }

    def status(self, nodes: Iterable[str], *, leads: bool) -> tuple[Replica, ...]:
        """Return the replicas by a tool's output.  `leads`: node a leads; else no node does."""
        rows: list[dict[str, object]] = []
        for name in sorted(self.replicas):
            answers, is_leader = name in nodes, leads and name == "a"
            if self.kind == "stream":
                if answers:
                    role = "writer" if is_leader else "replica"
                    rows.append({"node": name, "role": role, "offset": 9, "committed_offset": 9})
                continue
            rows.append(
                {
                    "Node Name": name,
                    "Raft State": "leader" if is_leader else "follower" if answers else "noproc",
                    "Membership": "promotable" if name in self.learners else "voter",
                    "Last Log Index": 9 if answers else "",
                    "Commit Index": 9 if answers else "",
                }
            )
        return replicas_of(Kind(self.kind), rows)
