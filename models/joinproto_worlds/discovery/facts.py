"""The facts of a first start: nodes, their settings, cut links, and faults."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from joinproto.discovery.answers import Answer
from joinproto.discovery.boot import Rules

Backend = Literal["lists", "registered", "selects", "seed"]


@frozen(kw_only=True)
class Facts:
    """`tries`: rounds after the first; None means without end.

    `backend`: it `lists` all, or all that `registered`; it `selects` the oldest of these; or all
    know the `seed`, the first of `names`.  `told`: nodes that are always given this answer
    instead.  `groups`: which nodes are cut off from all others at first, until the network heals.
    `partial_lists`: an answer may lack any other node.  `fails`: it may be an error.  `stale`: the
    record of a dead node is there.  `lapses`: records that the service may lose.  `wipes`: the
    first node may lose its disk once it runs.  `registers_late`: a node looks before it registers.
    `locks`: the service keeps a lock from the beginning until a node is registered; `expires`: it
    may expire.
    `is_global`: that lock is among the nodes that hear each other, and is held until the node runs.
    `gives_up`: any try may be the last one.  `expected`: ours, how many members there will be.
    """

    names: tuple[str, ...]
    rules: Rules = Rules.REAL
    backend: Backend = "lists"
    tries: int | None = None
    told: tuple[tuple[str, Answer], ...] = ()
    groups: tuple[frozenset[str], ...] = ()
    partial_lists: bool = False
    fails: bool = False
    stale: bool = False
    lapses: int = 0
    wipes: bool = False
    registers_late: bool = False
    locks: bool = False
    expires: bool = False
    is_global: bool = False
    gives_up: bool = False
    expected: int = 0

    @property
    def meant(self) -> int:
        """Return how many members there will be."""
        return self.expected or len(self.names)
