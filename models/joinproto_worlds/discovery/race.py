"""The race of first starts: blank nodes start at any time, and must become one cluster.

Source: discovery, D1 to D3.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from joinproto.check.properties import always, sometimes
from joinproto.check.view import View
from joinproto.check.world import World
from joinproto.discovery.boot import Rules
from joinproto_worlds.discovery.facts import Backend, Facts
from joinproto_worlds.discovery.moves import Moves
from joinproto_worlds.discovery.node import Cluster, Links, Node, Service, Stage

NAMES = "abcdefgh"
GONE = "z"
"""A dead node, whose record is stale."""


def build(
    members: int = 3,
    mutant: str | None = None,
    *,
    rules: str = "real",
    backend: Backend = "lists",
    cut: int = 0,
    **more: Any,
) -> World:
    """Return a world of nodes; `cut`: how many of them are cut off at first; `more`: fields of
    `Facts`.
    """
    names = tuple(NAMES[:members])
    groups = (frozenset(names[:cut]),) if cut else ()
    facts = Facts(names=names, rules=Rules(rules), backend=backend, groups=groups, **more)
    return world_of(facts, mutant)


def world_of(facts: Facts, mutant: str | None = None, *, only_joins: bool = False) -> World:
    """Return the world of these facts; `only_joins`: without the claim "one cluster"."""
    node = partial(
        Node, rules=facts.rules, tries=facts.tries, expected=facts.members_expected, mutant=mutant
    )
    members: dict[str, Any] = {name: partial(node, name) for name in facts.names}
    members["links"] = partial(Links, facts.groups)
    records = (GONE,) if facts.stale else ()
    members["service"] = partial(Service, records, facts.lapses, facts.locks)
    is_refused = facts.rules is Rules.OURS and facts.members_expected != len(facts.names)
    return World(
        name="discovery-race",
        members=members,
        beside=("links", "service"),
        properties=[
            *([] if only_joins else [always("one cluster", partial(_is_one, facts.names))]),
            sometimes("one is refused", partial(_refused, facts.names))
            if is_refused
            else sometimes("all are in one", partial(_all_in_one, facts.names)),
        ],
        together=Moves(facts),
        about="blank nodes that start at any moments become one cluster",
    )


def _clusters(names: Iterable[str], view: View) -> list[Cluster]:
    return [view[name].cluster for name in names if view[name].cluster is not None]


def _is_one(names: Iterable[str], view: View) -> bool:
    return len(set(_clusters(names, view))) <= 1


def _all_in_one(names: tuple[str, ...], view: View) -> bool:
    found = _clusters(names, view)
    return len(found) == len(names) and len(set(found)) == 1


def _refused(names: tuple[str, ...], view: View) -> bool:
    return any(view[name].stage is Stage.ENDED for name in names)
