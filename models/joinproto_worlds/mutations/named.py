"""A mutation by its name: of the systems only as much is loaded as it takes to find it.

Most searches ask for none, and a search of one system loads no other one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto_worlds.mutations.mutation import Mutation, inside


@frozen
class _Place:
    """A module here, the tuples of mutations in it, and the room of ours that they change."""

    module: str
    tuples: tuple[str, ...]
    room: str


_PLACES = (
    _Place("choosing", ("CHOOSING", "ANSWERING"), "join"),
    _Place("succeeding", ("SUCCEEDING",), "join"),
    _Place("standing", ("PHASES", "WRITING"), "join"),
    _Place("picking", ("PICKING", "LOGGING"), "pick"),
    _Place("discovering", ("DISCOVERING",), "discovery"),
    _Place("promoting", ("PROMOTING",), "standby"),
    _Place("note", ("NOTE",), "reference"),
    _Place("clusterer", ("CLUSTERER",), "clusterer"),
    _Place("reconciling", ("RECONCILING",), "reconcile"),
)


def every() -> Iterator[Mutation]:
    """Yield every mutation."""
    for place in _PLACES:
        yield from _of(place)


def mutation(name: str | None) -> Mutation | None:
    """Return the mutation of this name, None for None; raises `UsageProblem` for another."""
    found = _found(name)
    if name is not None and found is None:
        raise UsageProblem(
            f"there is no mutation {name!r}",
            next="name one of " + ", ".join(one.name for one in every()),
        )
    return found


mutated = inside(lambda it: mutation(it.mutant))
"""Decorates a method: it runs with the mutation that its object's field `mutant` names."""


def is_mutation(name: str | None) -> bool:
    """Return whether there is one of this name."""
    return _found(name) is not None


def _found(name: str | None) -> Mutation | None:
    if name is None:
        return None
    # First those of modules that the world has loaded.
    places = sorted(_PLACES, key=lambda place: f"joinproto.{place.room}" not in sys.modules)
    return next((one for place in places for one in _of(place) if one.name == name), None)


def _of(place: _Place) -> Iterator[Mutation]:
    module = import_module(f"joinproto_worlds.mutations.{place.module}")
    for name in place.tuples:
        yield from getattr(module, name)
