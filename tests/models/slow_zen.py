"""Elasticsearch's published model a second time, slow and obvious, with one set of messages.

This module uses no code of the world.  The bounds are `terms`, `versions`, `values`, and `cap`, the
greatest number of messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple

Names = frozenset[str]
Config = tuple[Names, int]
"""The nodes whose votes count, and the number of nodes of which a quorum is more than half."""
NONE: Config = (frozenset(), 0)


class Node(NamedTuple):
    term: int = 0
    version: int = 0
    accepted_term: int = 0
    value: int = 0
    accepted: Config = NONE
    committed: Config = NONE
    joins: Names = frozenset()
    started: bool = False
    won: bool = False
    published_version: int = 0
    published: Config = NONE
    votes: Names = frozenset()


class Msg(NamedTuple):
    """A message.  `data`: the accepted term and version in a join; the value, the configuration
    and the committed configuration in a request; empty in a response and in a commit.
    """

    kind: str
    source: str
    to: str
    term: int
    version: int = 0
    data: tuple[Any, ...] = ()


class State(NamedTuple):
    nodes: tuple[tuple[str, Node], ...]
    messages: frozenset[Msg]
    descent: frozenset[tuple[int, int, int, int]]
    initial: Names


def subsets(names: Names) -> list[Names]:
    ordered = sorted(names)
    sizes = range(1, len(ordered) + 1)
    return [frozenset(s) for s in chain.from_iterable(combinations(ordered, k) for k in sizes)]


def has_quorum(votes: Names, config: Config) -> bool:
    return 2 * len(votes & config[0]) > config[1]


class Model:
    def __init__(self, names: Names, terms: int, versions: int, values: int, cap: int) -> None:
        self.names, self.terms, self.versions = names, terms, versions
        self.values, self.cap = values, cap

    def initial(self) -> list[State]:
        nodes = tuple((name, Node()) for name in sorted(self.names))
        return [State(nodes, frozenset(), frozenset(), names) for names in subsets(self.names)]

    def successors(self, state: State) -> Iterator[State]:
        nodes = dict(state.nodes)

        def after(name: str, *sent: Msg, descent: Any = frozenset(), **changed: Any) -> State:
            changed_nodes = {**nodes, name: nodes[name]._replace(**changed)}
            held, more = state.messages | set(sent), state.descent | descent
            return State(tuple(sorted(changed_nodes.items())), held, more, state.initial)

        lost: dict[str, Any] = {
            "joins": frozenset(),
            "votes": frozenset(),
            "won": False,
            "published_version": 0,
        }
        for name, n in nodes.items():
            yield after(name, started=False, published=n.accepted, **lost)
            if n.version == 0:
                for found in subsets(state.initial):
                    config = (found, len(state.initial))
                    if has_quorum(found, config):
                        yield after(name, version=1, value=1, accepted=config, committed=config)
            for term in range(n.term + 1, self.terms + 1):
                for other in self.names:
                    join = Msg("join", name, other, term, 0, (n.accepted_term, n.version))
                    yield after(name, join, term=term, started=True, published=n.accepted, **lost)
            yield from self._published(state, after, name, n)
        for m in state.messages:
            yield from getattr(self, "_" + m.kind)(after, nodes[m.to], m)

    def _published(self, state: State, after: Any, name: str, n: Node) -> Iterator[State]:
        if not n.won or n.published_version != n.version:
            return
        last = min(2, self.versions) if n.term <= 1 else self.versions
        for version in range(n.version + 1, last + 1):
            for value in range(1, self.values + 1):
                for config in [(who, len(who)) for who in subsets(self.names)]:
                    if config != n.accepted and n.committed != n.accepted:
                        continue
                    if not has_quorum(n.joins, config):
                        continue
                    new, old = (n.term, version), (n.accepted_term, n.version)
                    descent = {(*old, *new)} | {
                        (*d[:2], *new) for d in state.descent if d[2:] == old
                    }
                    data = (value, config, n.committed)
                    sent = [Msg("request", name, other, *new, data) for other in self.names]
                    kept = {"published_version": version, "published": config}
                    yield after(name, *sent, descent=descent, votes=frozenset(), **kept)

    def _join(self, after: Any, n: Node, m: Msg) -> Iterator[State]:
        newer = m.data > (n.accepted_term, n.version)
        if m.term == n.term and n.started and not newer and n.version > 0:
            joins = n.joins | {m.source}
            won = has_quorum(joins, n.committed) and has_quorum(joins, n.accepted)
            at = n.version if won and not n.won else n.published_version
            yield after(m.to, joins=joins, won=won, published_version=at)

    def _request(self, after: Any, n: Node, m: Msg) -> Iterator[State]:
        if m.term == n.term and (m.term != n.accepted_term or m.version > n.version):
            value, config, committed = m.data
            answer = Msg("response", m.to, m.source, m.term, m.version)
            here = {"accepted_term": m.term, "version": m.version, "value": value}
            yield after(m.to, answer, accepted=config, committed=committed, **here)

    def _response(self, after: Any, n: Node, m: Msg) -> Iterator[State]:
        if n.won and m.term == n.term and m.version == n.published_version:
            votes = n.votes | {m.source}
            done = has_quorum(votes, n.committed) and has_quorum(votes, n.published)
            sent = [Msg("commit", m.to, other, m.term, m.version) for other in self.names]
            yield after(m.to, *(sent if done else []), votes=votes)

    def _commit(self, after: Any, n: Node, m: Msg) -> Iterator[State]:
        here = m.term == n.term == n.accepted_term and m.version == n.version
        if here and (not n.won or n.version == n.published_version):
            yield after(m.to, committed=n.accepted)

    def broken(self, state: State) -> set[str]:
        """Return the names of the claims that do not hold."""
        sent = state.messages
        requests = [m for m in sent if m.kind == "request"]
        commits = {(m.term, m.version) for m in sent if m.kind == "commit"}
        done = [m for m in requests if (m.term, m.version) in commits]
        found = set()
        for m in requests:
            for o in requests:
                if m.term == o.term and m.source != o.source:
                    found.add("masters")
                if (m.term, m.version) == (o.term, o.version) and m.data[0] != o.data[0]:
                    found.add("values")
        for m in done:
            if (0, 1, m.term, m.version) not in state.descent:
                found.add("initial")
            for o in requests:
                descends = (m.term, m.version, o.term, o.version) in state.descent
                if o.term >= m.term and o.version > m.version and not descends:
                    found.add("builds")
            voters = {
                a.source
                for a in sent
                if a.kind == "response" and (a.term, a.version) == (m.term, m.version)
            }
            if not has_quorum(frozenset(voters), m.data[2]):
                found.add("short")
        return found

    def explore(self) -> tuple[list[int], set[str]]:
        """Return the number of states of each level, without states of more than `cap` messages,
        and the names of the broken claims.
        """
        level = set(self.initial())
        seen, sizes, broken = set(level), [], set[str]()
        while level:
            sizes.append(len(level))
            for state in level:
                broken |= self.broken(state)
            found = {after for state in level for after in self.successors(state)}
            level = {s for s in found - seen if len(s.messages) <= self.cap}
            seen |= level
        return sizes, broken
