"""A row of the catalogue: one world, and how its search must end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, frozen


@frozen
class Entry:
    """One world.  `members`: the least and the most; `usual`: the default.

    `given`: arguments of the builder that belong to this world.  `steps`: length of the
    shortest run that must break it, with the defaults.  `tier`: "quick" worlds end within
    seconds and are what `make check` runs; "long" ones take minutes; "deep" ones have more
    states than one machine is likely to search to the end: they are meant for Spark.
    """

    name: str
    build: str
    about: str
    members: tuple[int, int]
    usual: int
    expected: Literal["holds", "violated"] = "holds"
    steps: int | None = None
    tier: Literal["quick", "long", "deep"] = "quick"
    mutants: tuple[str, ...] = ()
    given: Mapping[str, Any] = Factory(dict)
