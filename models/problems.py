"""What is wrong with a model, told to the person who wrote it."""

from __future__ import annotations

import functools
import traceback
from pathlib import Path
from typing import Any

from joinproto.errors import UsageProblem

_OWN = Path(__file__).resolve().parent


class ModelProblem(UsageProblem):
    """A model that cannot be explored: what was found, where, and what to do next.

    `place` is `file:line` where it is known.  The command ends with exit code 2.
    """

    def __init__(self, message: str, *, next: str = "", place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message, next=next)
        self.place = place


def place_of(call: Any) -> str:
    """Return file:line where a function begins, or nothing."""
    while isinstance(call, functools.partial):
        call = call.func
    code = getattr(call, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def raised_at(error: BaseException) -> str:
    """Return file:line of the innermost frame that is not the checker's own, or nothing."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).parent not in (_OWN, _OWN / "engine"):
            return f"{frame.filename}:{frame.lineno}"
    return ""
