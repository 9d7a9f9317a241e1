"""The abstract register of views: each has one successor, and that is all.

What the view chain is to be, with everything left out that it is made of: a number of views, each
the successor of the one before it.  `by_ledger` says where a join world stands in it, by what its
ledger knows to be chosen.  The ledger forgets no view, so that its views are a chain in every
state says that each step appends at most one, behind the latest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define

from joinproto.join.ids import Name
from models.properties import Property, implements, sometimes
from models.view import View
from models.world import World

VIEWS_MAX = 12


@define
class Register:
    """`views`: how many were chosen, each the successor of the one before."""

    views: int

    def choices(self) -> Iterator[str]:
        if self.views < VIEWS_MAX:
            yield "the latest view gets its successor"

    def receive(self, event: str) -> None:
        self.views += 1

    def shows(self) -> int:
        return self.views


def abstract(views: int = 0) -> World:
    """`views`: so many are there at the outset."""
    return World(
        name="view-register",
        members={"register": lambda: Register(views)},
        properties=[sometimes("a view follows", lambda view: view["register"] > views)],
        about="each view has one successor",
    )


def by_ledger(view: View) -> dict[str, Any]:
    """Return how many views are chosen, or that they are no chain."""
    chosen: frozenset[Name] = view.monitor.chosen
    latest = [name for name in chosen if all(other.parent != name for other in chosen)]
    in_order = len({name.parent for name in chosen}) == len(chosen) and len(latest) <= 1
    return {"register": len(chosen) if in_order else "no chain"}


def implements_a_register(views: int = 0) -> Property:
    """`views`: chosen before runs begin."""
    return implements("the view chain is a register of views", abstract(views), by_ledger)
