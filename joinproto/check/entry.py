"""A row of the catalogue of worlds: a world, and the expected result of its search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, evolve, frozen

Tier = Literal["quick", "long", "deep"]


@frozen
class Entry:
    """One world.  `members`: the least and the greatest number; `usual`: the default number.

    `build`: "module:function" of the builder.  `given`: this world's arguments for it.  `steps`:
    length of the shortest run that breaks a claim, with the defaults.  `tier`: searches of "quick"
    worlds end within seconds, and `make check` runs them; searches of "long" worlds take minutes;
    "deep" worlds have more states than one machine is likely to search: they are meant for Spark.
    Only for incidents: `happened`, a description by which a person who had this incident recognises
    it; `link`, the address of its report; `spoken`, log lines, settings and products to search for.
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
    """The values that several worlds of one builder share; calling it makes one `Entry`.

    `members`: the least, the usual and the greatest number; or one number that is fixed.  `given`:
    arguments of the builder for all these worlds; an entry may override them.
    """

    build: str
    members: int | tuple[int, int, int] = 1
    tier: Tier = "quick"
    prefix: str = ""
    given: Mapping[str, Any] = Factory(dict)

    def sharing(self, **given: Any) -> Family:
        """Return a family whose worlds share these arguments as well."""
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
        """Return an entry; with `steps` or `breaks`, its search must end with a broken claim."""
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
