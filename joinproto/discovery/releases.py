"""The known releases of the broker, and reading the tables of their settings and rules."""

from __future__ import annotations

import re
from importlib.resources import files

from attrs import frozen

from joinproto.errors import UsageProblem

_FORM = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


@frozen(order=True)
class Release:
    """A release; 3.8 means 3.8.0."""

    major: int
    minor: int
    patch: int = 0

    @property
    def series(self) -> tuple[int, int]:
        """Return the minor series: 3.8 of 3.8.4."""
        return self.major, self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")


FIRST = Release(3, 7)
"""The first release with peer discovery in its core."""
LATEST = Release(4, 3, 5)
"""The latest release whose schemas and code were read; `head` means this release."""


@frozen
class Ages:
    """The releases in which a rule holds, including backports.

    `since`: releases in ascending order.  The rule holds from each of them on in the same series,
    and from the last one on in all later series.  `gone`: the first release in which it no longer
    holds, or None.
    """

    since: tuple[Release, ...]
    gone: Release | None = None

    @classmethod
    def read(cls, text: str) -> Ages:
        """Return the releases in a text like `3.8.4 3.9 !4.1`."""
        words = [(word[0] == "!", release(word.lstrip("!"))) for word in text.split()]
        gone = [one for is_gone, one in words if is_gone]
        return cls(tuple(one for is_gone, one in words if not is_gone), gone[0] if gone else None)

    def holds(self, at: Release) -> bool:
        """Return whether the rule holds in this release."""
        if self.gone is not None and at >= self.gone:
            return False
        if at.series > self.since[-1].series:
            return True
        return any(at.series == one.series and at >= one for one in self.since)

    def __str__(self) -> str:
        *before, last = map(str, self.since)
        since = f"since {', '.join(before)} and {last}" if before else f"since {last}"
        return since if self.gone is None else f"{since}, and no more since {self.gone}"


def at_release(text: str, at: Release) -> str:
    """Return the value at a release, from a text like `10 3.13:30`: 10, and 30 from 3.13.0 on."""
    first, *later = text.split(" ")
    pairs = (one.partition(":") for one in later)
    values = [value for since, _, value in pairs if at >= release(since)]
    return values[-1] if values else first


def release(text: str) -> Release:
    """Return the release of a text like `4.1`, `3.8.4` or `head`.

    Raises `UsageProblem` for another text, and for a release before 3.7 or of a later major version
    than the latest known release.
    """
    if text in ("head", "latest"):
        return LATEST
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageProblem(
            f"{text!r} is not a release",
            next=f"write a release from {FIRST} to {LATEST}, such as 3.8.4, or head",
        )
    numbers = Release(*(int(part or 0) for part in found.groups()))
    if numbers < FIRST or numbers.major > LATEST.major:
        raise UsageProblem(
            f"release {numbers} is not known", next=f"write a release from {FIRST} to {LATEST}"
        )
    return numbers


def rows(table: str) -> list[list[str]]:
    """Return the rows of a table, a file of this package."""
    text = files("joinproto.discovery").joinpath(table).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
