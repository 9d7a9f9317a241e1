"""The abstract register of views, in which each view has one successor.

The register specifies the view chain without its mechanism: its state is a number of views, each
the successor of the view before.  Two worlds of ours are compared with it by the chosen views in
their ledgers, which members need not know.  A ledger forgets no view.  So if its views are a chain
in every state, and a step adds at most one view, the new view is the successor of the latest.  The
note is compared with the register by its active clusters: two at once, on the two sides of a
partition, break the mapping, because there are two first views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, evolve

from joinproto.check.properties import implements, sometimes
from joinproto.check.view import View
from joinproto.check.world import World
from joinproto.join.ids import Name
from joinproto_worlds.join import world as join
from joinproto_worlds.note import entries as note_worlds
from joinproto_worlds.note import world as note
from joinproto_worlds.register import chain as chain_register

VIEWS_MAX = 12


@define
class Register:
    """The register.  `views`: how many are chosen, each the successor of the one before."""

    views: int

    def choices(self) -> Iterator[str]:
        if self.views < VIEWS_MAX:
            yield "the latest view gets its successor"

    def receive(self, event: str) -> None:
        self.views += 1

    def shows(self) -> int:
        return self.views


def abstract(views: int = 0) -> World:
    """Return the world of the register, with this many `views` at the beginning."""
    return World(
        name="view-register",
        members={"register": lambda: Register(views)},
        properties=[sometimes("a view follows", lambda view: view["register"] > views)],
        about="each view has one successor",
    )


def by_ledger(view: View) -> dict[str, Any]:
    """Map a join world's state to the number of chosen views, or to "no chain"."""
    chosen: frozenset[Name] = view.monitor.chosen
    latest = [name for name in chosen if all(other.parent != name for other in chosen)]
    in_order = len({name.parent for name in chosen}) == len(chosen) and len(latest) <= 1
    return {"register": len(chosen) if in_order else "no chain"}


def by_choice(view: View) -> dict[str, Any]:
    """Map a state of a `chain-register` world to the number of chosen successors."""
    chosen = {majority.view for majority in view.monitor}
    return {"register": len(chosen) if len(chosen) <= 1 else "several successors"}


def by_founding(view: View) -> dict[str, Any]:
    """Map a state of the note's world to the number of active clusters (initial signatures)."""
    founded = {shown.status.initial for shown in view.up.values() if shown.status.active}
    return {"register": len(founded) if len(founded) <= 1 else "several first views"}


def _compared_with_register(world: World, mapping: Callable[[View], dict[str, Any]]) -> World:
    claim = implements("views are kept as in a register", abstract(), mapping)
    seen = sometimes("a view is chosen", lambda view: mapping(view)["register"] != 0)
    return evolve(world, properties=[claim, seen], interchangeable=())


def of_join(members: int = 2, mutant: str | None = None) -> World:
    """Return `join-two` with this many members, compared with the register."""
    return _compared_with_register(join.build(members, mutant=mutant), by_ledger)


def of_votes(members: int = 2, mutant: str | None = None) -> World:
    """Return the world in which members found a cluster by votes, compared with the register."""
    return _compared_with_register(
        chain_register.build(members, mutant=mutant, founding=True), by_choice
    )


def of_note(members: int = 2) -> World:
    """Return `note-partition` with this many members, compared with the register."""
    row = next(row for row in note_worlds.FAIL if row.name == "note-partition")
    return _compared_with_register(note.build(members=members, **row.given), by_founding)
