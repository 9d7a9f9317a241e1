"""A node of the model: its own steps, and the effect of each message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Message, Record, Send
from joinproto_worlds.zen.history import Committed, Published, Sent
from joinproto_worlds.zen.rules import (
    Commit,
    Configuration,
    Join,
    Request,
    Response,
    Rules,
    subsets,
)

RESTART = "restart"
NO_NODES: frozenset[str] = frozenset()


@frozen(cache_hash=True)
class Found:
    """Choice: accept this configuration as the first, with the initial value."""

    configuration: Configuration

    def __str__(self) -> str:
        return f"found with {self.configuration}"


@frozen(cache_hash=True)
class StartJoin:
    """Choice: vote for `to` in `term`."""

    to: str
    term: int

    def __str__(self) -> str:
        return f"start to join {self.to} in term {self.term}"


@frozen(cache_hash=True)
class Publish:
    """Choice: a client changes the value, or the configuration."""

    version: int
    value: int
    configuration: Configuration

    def __str__(self) -> str:
        return f"publish version {self.version}: value {self.value}, nodes {self.configuration}"


@define
class Node:
    """A node.  Its fields above the line are on disk; a restart loses the fields below it.

    `initial`: the nodes with which it may found a cluster; `accepted`, `committed`, `published`:
    the configurations that it has accepted, committed and published last.
    """

    name: str
    rules: Rules
    initial: frozenset[str] = NO_NODES
    term: int = 0
    accepted_term: int = 0
    version: int = 0
    value: int = 0
    accepted: Configuration | None = None
    committed: Configuration | None = None
    # ------------------------------------------------------------------------------------
    join_votes: frozenset[str] = NO_NODES
    started: bool = False
    won: bool = False
    published_version: int = 0
    published: Configuration | None = None
    publish_votes: frozenset[str] = NO_NODES

    def choices(self) -> Iterator[Any]:
        rules = self.rules
        if self.version == 0:
            yield from map(Found, rules.foundings(self.initial))
        for term in range(self.term + 1, rules.terms + 1):
            for name in sorted(rules.names):
                yield StartJoin(name, term)
        if self.won and self.published_version == self.version:
            configurations = [*filter(self._may_change_to, map(_of, subsets(rules.names)))]
            for version in range(self.version + 1, rules.last_version(self.term) + 1):
                for value in range(1, rules.values + 1):
                    for configuration in configurations:
                        yield Publish(version, value, configuration)
        if self.started or not rules.forgets:
            yield RESTART

    def _may_change_to(self, configuration: Configuration) -> bool:
        rules = self.rules
        is_free = self.committed == self.accepted or rules.mutant == "changes-twice"
        has_quorum = rules.is_quorum(self.join_votes, configuration)
        has_quorum |= rules.mutant == "changes-unheard"
        return has_quorum and (configuration == self.accepted or is_free)

    def receive(self, event: Any) -> Any:
        match event:
            case Found(configuration):
                self.version, self.value = 1, 1
                self.accepted = self.committed = configuration
                self._forget_initial()
                return None
            case StartJoin(to, term):
                self._lose_memory()
                self.term, self.started = term, True
                return [Send(to, Join(term, (self.accepted_term, self.version))), Record(Sent(1))]
            case Publish():
                return self._publish(event)
            case Message(sender, Join() as join):
                return self._hear_join(sender, join)
            case Message(sender, Request() as request):
                return self._hear_request(sender, request)
            case Message(sender, Response() as response):
                return self._hear_response(sender, response)
            case Message(_, Commit() as commit):
                return self._hear_commit(commit)
        assert event == RESTART
        self._lose_memory()
        return None

    def _lose_memory(self) -> None:
        self.join_votes = self.publish_votes = NO_NODES
        self.started = self.won = False
        self.published_version = 0
        self.published = None if self.rules.forgets else self.accepted

    def _forget_initial(self) -> None:
        if self.rules.forgets:
            self.initial, self.value = NO_NODES, 0

    def _publish(self, wish: Publish) -> list[Any]:
        rules, parent = self.rules, (self.accepted_term, self.version)
        committed = self.committed
        assert committed is not None  # a node that has won has the votes of a quorum
        self.published_version, self.published = wish.version, wish.configuration
        self.publish_votes = NO_NODES
        request = Request(self.term, wish.version, wish.value, wish.configuration, committed)
        event = Published(self.term, wish.version, self.name, parent, committed, len(rules.names))
        return [*(Send(name, request) for name in sorted(rules.names)), Record(event)]

    def _hear_join(self, sender: str, join: Join) -> Any:
        started = self.started or self.rules.mutant == "joins-after-restart"
        newer = join.accepted > (self.accepted_term, self.version)
        newer &= self.rules.mutant != "newer-joins"
        if join.term != self.term or not started or newer or self.version == 0:
            return NOT_ENABLED
        self.join_votes |= {sender}
        before, self.won = self.won, self._is_elected()
        if self.won and not before:
            self.published_version = self.version
        return None

    def _is_elected(self) -> bool:
        is_quorum, votes = self.rules.is_quorum, self.join_votes
        return is_quorum(votes, self.committed) and is_quorum(votes, self.accepted)

    def _hear_request(self, sender: str, request: Request) -> Any:
        is_older = request.term == self.accepted_term and request.version <= self.version
        if request.term != self.term or is_older:
            return NOT_ENABLED
        self.accepted_term, self.version = request.term, request.version
        self.accepted, self.committed = request.configuration, request.committed
        self.value = request.value
        self._forget_initial()
        return [Send(sender, Response(request.term, request.version)), Record(Sent(1))]

    def _hear_response(self, sender: str, response: Response) -> Any:
        rules = self.rules
        mine = (self.term, self.published_version)
        if not self.won or (response.term, response.version) != mine:
            return NOT_ENABLED
        if rules.forgets and self.published is None:
            return NOT_ENABLED
        self.publish_votes |= {sender}
        votes = self.publish_votes
        old = rules.is_quorum(votes, self.committed) or rules.mutant == "commits-by-new-alone"
        new = rules.is_quorum(votes, self.published) or rules.mutant == "commits-by-old-alone"
        if not (old and new):
            return None
        if rules.forgets:
            self.published, self.publish_votes = None, NO_NODES
        event = Committed(*mine, votes, len(rules.names))
        return [*(Send(name, Commit(*mine)) for name in sorted(rules.names)), Record(event)]

    def _hear_commit(self, commit: Commit) -> Any:
        here = (self.accepted_term, self.version)
        if commit.term != self.term or (commit.term, commit.version) != here:
            return NOT_ENABLED
        is_former = self.won and self.version != self.published_version
        if is_former and self.rules.mutant != "commits-former":
            return NOT_ENABLED
        self.committed = self.accepted
        return None

    def horizon(self) -> int:
        """Return how far the node has come: a number of its term and the version accepted in it."""
        version = self.version if self.accepted_term == self.term else 0
        return stamp(self.rules, self.term, version)

    def shows(self) -> str:
        """Return the broken clause of the published claim about one node, or "in order"."""
        if self.accepted_term > self.term:
            return "has accepted what is of a later term"
        if self.won != self._is_elected():
            return "has not won as its votes say"
        if self.won and self.published_version < self.version:
            return "has published less than it has accepted"
        if not self.won and self.published_version:
            return "has published, and has not won"
        if self.won and not self.started:
            return "has won without a join"
        if self.publish_votes and not self.won:
            return "counts answers, and has not won"
        return "in order"


def _of(names: frozenset[str]) -> Configuration:
    return Configuration(names, len(names))


def stamp(rules: Rules, term: int, version: int) -> int:
    """Return a number that grows with the term, and within a term with the version."""
    return term * (rules.versions + 1) + version


def last_use(rules: Rules, to: str, content: Any) -> tuple[tuple[str, int], ...]:
    """Return the addressee of a message, with its last horizon at which it can take the message."""
    match content:
        case Join(term=term):
            return ((to, stamp(rules, term, rules.versions)),)
        case Request(term=term, version=version):
            return ((to, stamp(rules, term, version) - 1),)
        case Response(term=term, version=version) | Commit(term=term, version=version):
            return ((to, stamp(rules, term, version)),)
    raise AssertionError(content)
