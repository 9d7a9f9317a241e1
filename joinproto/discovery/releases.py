"""Releases of the broker whose settings and rules are told."""

from __future__ import annotations

import re

from attrs import frozen

from joinproto.errors import UsageProblem

_FORM = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


@frozen(order=True)
class Release:
    """A release: 3.8 is 3.8.0."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")


FIRST = Release(3, 7)
"""The first with peer discovery in its core."""
LATEST = Release(4, 3)


def release(text: str) -> Release:
    """Return the release; raises `UsageProblem` for another text, and for one before 3.7."""
    if text in ("head", "latest"):
        return LATEST
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageProblem(
            f"{text!r} is not a release",
            next=f"write {FIRST} to {LATEST}, as 4.1 or 3.8.4; or head",
        )
    numbers = Release(*(int(part or 0) for part in found.groups()))
    if numbers < FIRST or numbers.major > LATEST.major:
        raise UsageProblem(
            f"release {numbers} is not known", next=f"write one from {FIRST} to {LATEST}"
        )
    return numbers
