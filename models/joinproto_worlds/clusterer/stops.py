"""A world in which all nodes stop, one after the other: which of them may go first afterwards?

A node keeps the list of the nodes that ran when it stopped.  It strikes a node off when it sees
that node's end.  It may see that late, or stop before it sees it.  A node that has seen all ends so
far may acknowledge a write, which all running nodes then have.

Source: Clusterer, U5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.properties import Property, always_each, sometimes_one
from joinproto.check.world import World
from joinproto.clusterer.polling import may_go
from joinproto.clusterer.reading import Release
from joinproto.clusterer.tables import Next
from joinproto.clusterer.variants import RULES, Variant
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation


@frozen
class RestartView:
    """The nodes once all have stopped.  `goes`: the nodes that may go first.  `current`: the nodes
    that have the last write.

    `waits`: nodes that may not go first, and wait in a cycle with a node that may.
    """

    goes: frozenset[str] = frozenset()
    current: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()


mutated = inside(lambda nodes: mutation(nodes.mutant))


@define
class Nodes:
    """The nodes of one config.  `ran`: the list of each node; `has`: how many writes it has."""

    names: str
    variant: Variant
    mutant: str | None
    writes: int
    up: frozenset[str] = field(init=False)
    ran: dict[str, frozenset[str]] = field(init=False)
    has: dict[str, int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.up = frozenset(self.names)
        self.ran = dict.fromkeys(self.names, self.up)
        self.has = dict.fromkeys(self.names, 0)

    def choices(self) -> Iterator[tuple[str, str, str]]:
        for name in sorted(self.up):
            yield "stop", name, name
            for gone in sorted(self.ran[name] - self.up):
                yield "sees the stop", name, gone
            if self.ran[name] <= self.up and self.has[name] < self.writes:
                yield "writes", name, name

    def receive(self, event: tuple[str, str, str]) -> Any:
        match event:
            case "stop", name, _ if name in self.up:
                self.up -= {name}
            case "sees the stop", name, gone if name in self.up and gone not in self.up:
                self.ran[name] -= {gone}
            case "writes", name, _ if name in self.up:
                written = max(self.has.values()) + 1
                self.has |= dict.fromkeys(self.up, written)
            case _:
                return NOT_ENABLED
        return None

    @mutated
    def shows(self) -> RestartView:
        if self.up:
            return RestartView()
        graph = {name: self.ran[name] - {name} for name in self.names}
        rules = RULES[self.variant, Release.SEED]
        found = {name: may_go(graph, name, rules) for name in self.names}
        goes = frozenset(name for name, one in found.items() if one.case.outcome is Next.LOCK)
        last = max(self.has.values())
        return RestartView(
            goes=goes,
            current=frozenset(name for name, has in self.has.items() if has == last),
            waits=frozenset(name for name, one in found.items() if one.component & goes) - goes,
        )


def claims() -> Iterator[Property]:
    yield always_each(
        "whichever goes has the last write", lambda shown: shown.goes <= shown.current
    )
    yield always_each("one may go", lambda shown: bool(shown.goes) or not shown.current)
    yield sometimes_one("one waits for its circle", lambda shown: bool(shown.waits))
    yield sometimes_one("two may go", lambda shown: len(shown.goes) > 1)


def build(
    members: int = 3, mutant: str | None = None, *, variant: str = "ours", writes: int = 2
) -> World:
    """Return the world of `members` nodes; `writes`: the most writes that clients make."""
    return World(
        name="clusterer-stops",
        members={"nodes": lambda: Nodes("abcdef"[:members], Variant(variant), mutant, writes)},
        properties=list(claims()),
        about="all nodes stop in every order; those come back first that have the last write",
    )
