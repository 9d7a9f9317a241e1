"""A cluster config as a value, a node's notes on it, and the age of two configs.

Source: Clusterer, U1.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from attrs import field, frozen

V = TypeVar("V")

INFINITY = "infinity"


class Age(Enum):
    """The order of one config relative to another."""

    COEVAL = "coeval"  # the same content
    YOUNGER = "younger"  # a higher version
    OLDER = "older"
    INVALID = "invalid"  # the same version, other content


@frozen(cache_hash=True)
class Config:
    """The config that an operator declares.  No node is in both `disc` and `ram`.

    `gospel`: the node whose data survive; None if no data survive (reset).  `shutdown_timeout`: in
    seconds, INFINITY, or None in a release without this setting.
    """

    version: int
    disc: frozenset[str]
    ram: frozenset[str] = frozenset()
    gospel: str | None = None
    shutdown_timeout: int | str | None = None
    nodes: frozenset[str] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "nodes", self.disc | self.ram)

    def is_single(self, node: str) -> bool:
        """Return whether the config names this node alone, as a disc node."""
        return not self.ram and self.disc == {node}

    def __str__(self) -> str:
        return f"version {self.version} of {', '.join(sorted(self.nodes)) or 'no nodes'}"


def compare(one: Config, other: Config) -> Age:
    """Return the age of `one` compared with `other`; identities do not count."""
    if one == other:
        return Age.COEVAL
    if one.version == other.version:
        return Age.INVALID
    return Age.YOUNGER if one.version > other.version else Age.OLDER


@frozen(cache_hash=True)
class Notes(Generic[V]):
    """Facts about nodes, by name: an immutable dict.  `pairs`: sorted."""

    pairs: tuple[tuple[str, V], ...] = ()

    @classmethod
    def of(cls, known: Mapping[str, V]) -> Notes[V]:
        return cls(tuple(sorted(known.items())))

    def get(self, node: str) -> V | None:
        """Return the fact about this node, or None."""
        for name, value in self.pairs:
            if name == node:
                return value
        return None

    def with_(self, node: str, value: V) -> Notes[V]:
        """Return the facts with this value for one node."""
        return self if self.get(node) == value else Notes.of({**dict(self.pairs), node: value})

    def over(self, other: Notes[V]) -> Notes[V]:
        """Return the facts of both; for a node that both know, the fact in `self` counts."""
        return Notes.of({**dict(other.pairs), **dict(self.pairs)}) if other.pairs else self

    def of_nodes(self, nodes: frozenset[str]) -> Notes[V]:
        """Return the facts about these nodes only."""
        if all(name in nodes for name, _ in self.pairs):
            return self
        return Notes(tuple(pair for pair in self.pairs if pair[0] in nodes))


NOTHING: Notes[Any] = Notes()


@frozen(cache_hash=True)
class Held:
    """A config with the notes of the node that holds it.  `ids`: each node's last known identity.

    `since`: for each node, the version from which on it has been a member without a break; only in
    our variant.
    """

    config: Config
    ids: Notes[str] = NOTHING
    since: Notes[int] = NOTHING


def default(node: str) -> Config:
    """Return the config of a blank node: version 0, with this node alone, which is the gospel."""
    return Config(0, frozenset({node}), gospel=node, shutdown_timeout=INFINITY)
