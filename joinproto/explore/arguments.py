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
        raise UsageProblem(f"{name} is {value!r}", next=f"give a whole number as {name}")
    return value


def list_of(given: Json, name: str) -> list[Any]:
    """Return a list, an empty one if no list is given; raises `UsageProblem`."""
    value = given.get(name) or []
    if not isinstance(value, list):
        raise UsageProblem(f"{name} is {value!r}", next=f"give a list as {name}")
    return value


def keys_of(given: Json) -> list[Any]:
    """Return the keys of a run's steps, at most `STEPS_MAX`; raises `UsageProblem`."""
    keys = list_of(given, "keys")
    if len(keys) > STEPS_MAX:
        raise UsageProblem(
            f"the run has {len(keys):,} steps", next=f"give a run of at most {STEPS_MAX:,} steps"
        )
    return keys


def seconds_of(given: Json) -> float:
    """Return the seconds that the search may take, at most `SECONDS_MAX`; raises `UsageProblem`."""
    seconds = given.get("seconds", 0.4)
    if type(seconds) not in (int, float) or not 0 <= seconds <= 60:
        raise UsageProblem(f"seconds is {seconds!r}", next="give a number from 0 to 60")
    return min(float(seconds), SECONDS_MAX)


SECONDS_MAX = 5.0
"""The most seconds that one question takes; then the page asks again."""
