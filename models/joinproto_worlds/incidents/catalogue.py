"""The catalogue of incidents: for each its source, its events, and its worlds' expected results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from attrs import frozen

from joinproto.check.world import World
from joinproto_worlds.incidents.words import Incident

Rule = Literal["deployed", "fixed", "left"]
"""The rule of a world: the deployed rule; its fix; or the fix, searched for remaining faults."""
ENDINGS: dict[Rule, str] = {"deployed": "", "fixed": "-fixed", "left": "-left"}
"""The suffix of a world's name, by its rule."""

Expected = tuple[str, int | None]
"""A sentence about a world, and the length of its shortest failing run, or None if it holds."""


@frozen
class CatalogueEntry:
    """An incident.  `happened`: a paragraph that a person with the same trouble recognises."""

    name: str
    system: str
    link: str
    worlds: Mapping[Rule, Expected]
    make: Callable[[Rule], Incident]

    @property
    def members(self) -> int:
        """Return the number of its nodes: servers and other participants."""
        return len(self.make("deployed").nodes)

    @property
    def happened(self) -> str:
        return " ".join((self.make.__doc__ or "").split())


INCIDENTS: dict[str, CatalogueEntry] = {}


def incident(
    name: str,
    system: str,
    link: str,
    *,
    deployed: Expected,
    **others: Expected,
) -> Callable[[Callable[[Rule], Incident]], Callable[[Rule], Incident]]:
    """Return a decorator that registers a function's incident; its docstring tells the events.

    `others`: the expected results of the worlds "fixed" and "left", if there are such worlds.
    """
    worlds = {"deployed": deployed, **others}

    def register(make: Callable[[Rule], Incident]) -> Callable[[Rule], Incident]:
        expected = {rule: worlds[rule] for rule in ENDINGS if rule in worlds}
        INCIDENTS[name] = CatalogueEntry(name, system, link, expected, make)
        return make

    return register


def build(members: int, *, incident: str, rule: Rule) -> World:
    """Return the world of an incident under a rule; `members` must be its number of nodes."""
    found = INCIDENTS[incident]
    if members != found.members:
        raise ValueError(f"incident {incident} has {found.members} members, not {members}")
    return found.make(rule).world(f"incident-{incident}")
