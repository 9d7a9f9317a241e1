"""Arguments of a question, read and validated: a value of another type is refused."""

from __future__ import annotations

from typing import Any

from joinproto.errors import UsageProblem
from joinproto.explore.graph import Json
from joinproto.explore.walking import STEPS_MAX


def number_of(given: Json, name: str, usual: int = 0) -> int:
    """Return a whole number; raises `UsageProblem`."""
    value = given.get(name, usual)
    if type(value) is not int:
        raise UsageProblem(f"{name} {value!r}", next=f"{name} is a whole number")
    return value


def list_of(given: Json, name: str) -> list[Any]:
    """Return a list, empty if none is given; raises `UsageProblem`."""
    value = given.get(name) or []
    if not isinstance(value, list):
        raise UsageProblem(f"{name} {value!r}", next=f"{name} is a list")
    return value


def keys_of(given: Json) -> list[Any]:
    """Return the keys of a run's steps, at most `STEPS_MAX`; raises `UsageProblem`."""
    keys = list_of(given, "keys")
    if len(keys) > STEPS_MAX:
        raise UsageProblem(f"a run of {len(keys):,} steps", next=f"{STEPS_MAX:,} at most")
    return keys


def seconds_of(given: Json) -> float:
    """Return for how long the search may go on, at most `SECONDS_MAX`; raises `UsageProblem`."""
    seconds = given.get("seconds", 0.4)
    if type(seconds) not in (int, float) or not 0 <= seconds <= 60:
        raise UsageProblem(f"seconds {seconds!r}", next="give a number from 0 to 60")
    return min(float(seconds), SECONDS_MAX)


SECONDS_MAX = 5.0
"""The most seconds that one question takes; then the page asks again."""
