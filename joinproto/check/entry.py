"""A row of the catalogue: one world, and how its search must end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, evolve, frozen

Tier = Literal["quick", "long", "deep"]


@frozen
class Entry:
    """One world.  `members`: the least and the most; `usual`: the default.

    `given`: arguments of the builder that belong to this world.  `steps`: length of the shortest
    run that must break it, with the defaults.  `tier`: "quick" worlds end within seconds and are
    what `make check` runs; "long" ones take minutes; "deep" ones have more states than one machine
    is likely to search to the end: they are meant for Spark. `happened`, `link`, `spoken`: of an
    incident, a paragraph that a person in the case would recognise, where it was reported, and
    other words that people use for it (log lines, settings, products).
    """

    name: str
    build: str
    about: str
    members: tuple[int, int]
    usual: int
    expected: Literal["holds", "violated"] = "holds"
    steps: int | None = None
    tier: Tier = "quick"
    mutants: tuple[str, ...] = ()
    given: Mapping[str, Any] = Factory(dict)
    happened: str = ""
    link: str = ""
    spoken: str = ""


@frozen
class Family:
    """Worlds of one builder: a row has its own values, and the common ones are here.

    `members`: the least, the usual and the most; or how many there are, always.  `given`:
    arguments of the builder in all of them; a row may give one of them another value.
    """

    build: str
    members: int | tuple[int, int, int] = 1
    tier: Tier = "quick"
    prefix: str = ""
    given: Mapping[str, Any] = Factory(dict)

    def sharing(self, **given: Any) -> Family:
        """Return a family whose worlds share these arguments, too."""
        return evolve(self, given={**self.given, **given})

    def __call__(
        self,
        name: str,
        about: str,
        /,
        *,
        members: int | tuple[int, int, int] | None = None,
        tier: Tier | None = None,
        steps: int | None = None,
        breaks: bool = False,
        mutants: tuple[str, ...] = (),
        **given: Any,
    ) -> Entry:
        """Return one; where `steps` are given, or it `breaks`, its claims must be broken."""
        sizes = self.members if members is None else members
        least, usual, most = (sizes, sizes, sizes) if isinstance(sizes, int) else sizes
        return Entry(
            self.prefix + name,
            self.build,
            about,
            members=(least, most),
            usual=usual,
            expected="violated" if breaks or steps is not None else "holds",
            steps=steps,
            tier=tier or self.tier,
            mutants=mutants,
            given={**self.given, **given},
        )
