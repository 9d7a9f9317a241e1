"""Each incident once: its source, its events, and the expected results of its worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from attrs import frozen

from joinproto.check.world import World
from joinproto_worlds.incidents.words import Incident

Rule = Literal["deployed", "fixed", "left"]
"""The rule that was deployed; the fix that was; the fix, searched for remaining faults."""

Ends = tuple[str, int | None]
"""The incident that a world shows, in a sentence, and the steps of its shortest run; None if it
holds.
"""


@frozen
class Told:
    """An incident.  `happened`: a paragraph that a person in this case would recognise."""

    name: str
    system: str
    link: str
    worlds: dict[Rule, Ends]
    make: Callable[[Rule], Incident]

    @property
    def members(self) -> int:
        """Return how many nodes it has: servers, and other participants."""
        return len(self.make("deployed").nodes)

    @property
    def happened(self) -> str:
        return " ".join((self.make.__doc__ or "").split())


INCIDENTS: dict[str, Told] = {}


def incident(
    name: str,
    system: str,
    link: str,
    *,
    deployed: Ends,
    fixed: Ends | None = None,
    left: Ends | None = None,
) -> Callable[[Callable[[Rule], Incident]], Callable[[Rule], Incident]]:
    """Register the incident of the function; its docstring tells the events."""
    worlds: dict[Rule, Ends] = {"deployed": deployed}
    if fixed is not None:
        worlds["fixed"] = fixed
    if left is not None:
        worlds["left"] = left

    def enter(make: Callable[[Rule], Incident]) -> Callable[[Rule], Incident]:
        INCIDENTS[name] = Told(name, system, link, worlds, make)
        return make

    return enter


def build(members: int, *, incident: str, rule: Rule) -> World:
    """Return the world of an incident under a rule; `members`: as many as it has."""
    from joinproto_worlds.incidents import sources  # noqa: F401  inside: it enters them

    found = INCIDENTS[incident]
    if members != found.members:
        raise ValueError(f"it has {found.members} members, always")
    return found.make(rule).world(f"incident-{incident}")
