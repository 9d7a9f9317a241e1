"""The history of publications and commits, and the claims about it.

The claims of the published model are about its set of messages, which only grows, and about a
relation of descent between publications.  Here a monitor remembers both.
"""

from __future__ import annotations

from typing import Any

from attrs import define, evolve, frozen

from joinproto_worlds.zen.rules import Configuration

INITIAL = (0, 1)
"""Term and version of a founder's first configuration."""


@frozen
class Sent:
    """Recorded: the set of messages has `count` more messages."""

    count: int


@frozen
class Published:
    """Recorded: a master, whose last accepted state is `parent`, publishes to `copies` nodes."""

    term: int
    version: int
    source: str
    parent: tuple[int, int]
    committed: Configuration
    copies: int


@frozen
class Committed:
    """Recorded: a master commits.  `votes`: the nodes that accepted the publication; `copies`: the
    nodes to which the commit is sent.
    """

    term: int
    version: int
    votes: frozenset[str]
    copies: int


@frozen(cache_hash=True)
class Publication:
    """A publication.  `ancestors`: the states that it descends from, as known at its time."""

    term: int
    version: int
    source: str
    committed: Configuration
    ancestors: frozenset[tuple[int, int]]

    @property
    def id(self) -> tuple[int, int]:
        return self.term, self.version


@frozen(cache_hash=True)
class Past:
    """The history.  `twice`: a version was published twice in a term; `short`: a commit lacked its
    quorum.
    """

    publications: frozenset[Publication] = frozenset()
    commits: frozenset[tuple[int, int]] = frozenset()
    messages: int = 0
    twice: bool = False
    short: bool = False

    @property
    def committed(self) -> list[Publication]:
        return [one for one in self.publications if one.id in self.commits]


@define
class History:
    """The monitor.  `counts`: whether it counts messages."""

    counts: bool
    past: Past = Past()

    def receive(self, event: Any) -> None:
        match event:
            case Published():
                self._publish(event)
            case Committed():
                self._commit(event)
            case Sent(count):
                self._count(count)

    def _count(self, more: int) -> None:
        if self.counts:
            self.past = evolve(self.past, messages=self.past.messages + more)

    def _publish(self, event: Published) -> None:
        known, here = self.past.publications, (event.term, event.version)
        above = [one.ancestors for one in known if one.id == event.parent]
        one = Publication(*here, event.source, event.committed, above_all(event.parent, above))
        twice = self.past.twice or any(other.id == here for other in known)
        self.past = evolve(self.past, publications=known | {one}, twice=twice)
        self._count(event.copies)

    def _commit(self, event: Committed) -> None:
        past, here = self.past, (event.term, event.version)
        quorums = [
            2 * len(event.votes & one.committed.names) > one.committed.size
            for one in past.publications
            if one.id == here
        ]
        short = past.short or not all(quorums)
        if here not in past.commits:
            self._count(event.copies)
        self.past = evolve(self.past, commits=past.commits | {here}, short=short)

    def shows(self) -> Past:
        return self.past


def above_all(
    parent: tuple[int, int], known: list[frozenset[tuple[int, int]]]
) -> frozenset[tuple[int, int]]:
    return frozenset({parent}).union(*known)


# -- the claims ----------------------------------------------------------------------------


def has_one_master(past: Past) -> bool:
    """Return whether no other node publishes in the term of a master."""
    return len({(one.term, one.source) for one in past.publications}) == len(
        {one.term for one in past.publications}
    )


def is_ordered(past: Past) -> bool:
    """Return whether all ancestors are earlier, and include the ancestors of ancestors."""
    return all(
        all(term <= one.term and version < one.version for term, version in one.ancestors)
        and all(
            other.ancestors <= one.ancestors
            for other in past.publications
            if other.id in one.ancestors
        )
        for one in past.publications
    )


def builds_on_committed(past: Past) -> bool:
    """Return whether each publication with a higher version than a committed publication, and not
    of an earlier term, descends from it.
    """
    return all(
        former.id in one.ancestors
        for former in past.committed
        for one in past.publications
        if one.term >= former.term and one.version > former.version
    )


def is_one_line(past: Past) -> bool:
    """Return whether of any two committed publications one descends from the other."""
    return all(
        one.id in other.ancestors or other.id in one.ancestors
        for one in past.committed
        for other in past.committed
        if one.id != other.id
    )


def descends_from_initial(past: Past) -> bool:
    """Return whether all committed publications descend from the initial value."""
    return all(INITIAL in one.ancestors for one in past.committed)


def later_terms_go_on(past: Past) -> bool:
    """Return whether a later term publishes higher versions than those committed before."""
    return all(
        one.version > version
        for term, version in past.commits
        for one in past.publications
        if one.term > term
    )


def has_two_masters(past: Past) -> bool:
    return len({one.source for one in past.publications}) > 1


def has_a_chain(past: Past) -> bool:
    """Return whether a committed publication descends from a commit of an earlier term."""
    return any(
        term < one.term and (term, version) in one.ancestors
        for one in past.committed
        for term, version in past.commits
    )


def has_strangers(past: Past) -> bool:
    """Return whether a publication was committed in a configuration with strangers."""
    return any(len(one.committed.names) < one.committed.size for one in past.committed)


def has_changed(past: Past) -> bool:
    """Return whether publications were committed in two different configurations."""
    return len({one.committed for one in past.committed}) > 1
