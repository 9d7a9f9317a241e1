"""Finds a mutation by its name, and loads few systems, because a search of one system should load
no other.
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
    """A module of this package and its tuples of mutations.  `package`: the part of joinproto that
    they change.
    """

    module: str
    tuples: tuple[str, ...]
    package: str


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
    for place in _PLACES:
        yield from _of(place)


def mutation(name: str | None) -> Mutation | None:
    """Return the mutation of this name, None for None; raises `UsageProblem` for an unknown one."""
    found = _found(name)
    if name is not None and found is None:
        raise UsageProblem(
            f"there is no mutation {name!r}",
            next="name one of " + ", ".join(one.name for one in every()),
        )
    return found


mutated = inside(lambda it: mutation(it.mutant))
"""A decorator: the method runs with the mutation that the `mutant` of its object names."""


def is_mutation(name: str | None) -> bool:
    """Return whether a mutation has this name; False for None."""
    return _found(name) is not None


def _found(name: str | None) -> Mutation | None:
    if name is None:
        return None
    # Modules for packages that the world has already loaded come first.
    places = sorted(_PLACES, key=lambda place: f"joinproto.{place.package}" not in sys.modules)
    return next((one for place in places for one in _of(place) if one.name == name), None)


def _of(place: _Place) -> Iterator[Mutation]:
    module = import_module(f"joinproto_worlds.mutations.{place.module}")
    for name in place.tuples:
        yield from getattr(module, name)
