"""The facts of a first start: nodes, their settings, cut links and possible faults."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from joinproto.discovery.answers import Answer
from joinproto.discovery.boot import Rules

Backend = Literal["lists", "registered", "selects", "seed"]


@frozen(kw_only=True)
class Facts:
    """The facts of a first start.

    `tries`: the most rounds after the first; None means without end.  `backend`: "lists" lists all
    nodes, "registered" the registered nodes; "selects" names the longest registered node; with
    "seed" all nodes know the first of `names`.  `told`: nodes that always get the given answer
    instead.  `groups`: sets of nodes that are cut off until the network heals.  `partial_lists`: an
    answer may lack one other node; `fails`: it may be an error.  `stale`: the service has the
    record of a dead node.  `lapses`: how many records the service may lose.  `wipes`: the first
    node may lose its disk once, while it runs.  `registers_late`: a node asks the service before it
    registers.  `locks`: a node that begins takes the service's lock, until it is registered;
    `expires`: the lock may expire.  `is_global`: the lock keeps off only nodes that hear its
    holder, and is kept until the holder runs or has ended.  `gives_up`: any try may be the last.
    `expected`: for our rules, how many members there will be; 0 means all `names`.
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
    def members_expected(self) -> int:
        return self.expected or len(self.names)
