"""The messages of the model, its configurations, bounds and quorums."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

from attrs import frozen

EARLY_VERSION_MAX = 2
"""The last version that terms up to 1 publish; later terms publish up to `Rules.versions`."""


@frozen(cache_hash=True)
class Configuration:
    """The nodes whose votes count.  `size`: their number plus that of strangers, who never vote."""

    names: frozenset[str]
    size: int

    def __str__(self) -> str:
        strangers = self.size - len(self.names)
        return " ".join([*sorted(self.names), *["?"] * strangers])


@frozen(cache_hash=True)
class Join:
    """A vote for the addressee in a term, with its sender's last accepted state."""

    term: int
    accepted: tuple[int, int]

    def __str__(self) -> str:
        return f"join of term {self.term}, accepted {_term_and_version(self.accepted)}"


@frozen(cache_hash=True)
class Request:
    """A master asks a node to accept a value and a configuration; `committed`: the configuration
    that is committed until now.
    """

    term: int
    version: int
    value: int
    configuration: Configuration
    committed: Configuration

    def __str__(self) -> str:
        return (
            f"publish {_term_and_version((self.term, self.version))}: value {self.value}, "
            f"nodes {self.configuration}, committed {self.committed}"
        )


@frozen(cache_hash=True)
class Response:
    """The sender has accepted this version in this term."""

    term: int
    version: int

    def __str__(self) -> str:
        return f"accepted {_term_and_version((self.term, self.version))}"


@frozen(cache_hash=True)
class Commit:
    """A quorum has accepted this version in this term."""

    term: int
    version: int

    def __str__(self) -> str:
        return f"commit {_term_and_version((self.term, self.version))}"


def _term_and_version(which: tuple[int, int]) -> str:
    return f"{which[0]}.{which[1]}"


@frozen(cache_hash=True)
class Rules:
    """The size of the model, and the mutant, which lacks one rule.

    `founding`: with "quorum" a node founds with any quorum, and strangers for the rest; with "same"
    all nodes found with the same configuration.  `forgets`: see `world.py`.
    """

    names: frozenset[str]
    terms: int
    versions: int
    values: int
    founding: str
    forgets: bool
    mutant: str | None

    def is_quorum(self, votes: frozenset[str], configuration: Configuration | None) -> bool:
        if configuration is None:
            return False
        voting = 2 * len(votes & configuration.names)
        if self.mutant == "half-is-enough":
            return voting >= configuration.size
        return voting > configuration.size

    def foundings(self, initial: frozenset[str]) -> Iterator[Configuration]:
        """Yield the configurations with which a node may found a cluster of the nodes `initial`."""
        for found in subsets(initial):
            few = 2 * len(found) <= len(initial)
            if len(found) < len(initial) and self.founding == "same":
                continue
            if self.mutant == "founds-with-too-few":
                yield Configuration(found, len(found))
            elif not few:
                yield Configuration(found, len(initial))

    def last_version(self, term: int) -> int:
        return min(EARLY_VERSION_MAX, self.versions) if term <= 1 else self.versions


def subsets(names: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield all subsets except the empty one."""
    ordered = sorted(names)
    sizes = range(1, len(ordered) + 1)
    every = chain.from_iterable(combinations(ordered, size) for size in sizes)
    return map(frozenset, every)
