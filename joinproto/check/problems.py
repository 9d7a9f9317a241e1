"""Errors in a model, reported to its author."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinproto.errors import UsageProblem

if TYPE_CHECKING:
    from joinproto.check.report import Trace

_OWN = Path(__file__).resolve().parent


class ModelProblem(UsageProblem):
    """A model that cannot be explored: what was found, its place, and the next step.

    `place` is `file:line` if it is known.  `member`: the member whose code failed, if any.
    `led_to`: a shortest run to the state in which the code failed, added by a search.  The command
    ends with exit code 2.
    """

    def __init__(
        self,
        message: str,
        *,
        next: str = "",
        place: str = "",
        member: str = "",
        led_to: Trace | None = None,
    ) -> None:
        super().__init__(f"{place}: {message}" if place else message, next=next)
        self.place, self.member, self.led_to = place, member, led_to

    def order(self) -> tuple[str, str]:
        """Return the sort key of a problem: every engine reports the first of several."""
        return self.member, self.message


def must(fits: Callable[[Any], bool], wanted: str) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator that raises `ModelProblem` for a value that does not fit."""

    def validate(instance: Any, attribute: Any, value: Any) -> None:
        if not fits(value):
            raise ModelProblem(
                f"{type(instance).__name__}({attribute.name}={value!r})", next=f"expected {wanted}"
            )

    return validate


def refuse_strangers(what: str, named: Iterable[Any], members: Collection[str]) -> None:
    """Raise `ModelProblem` if one of `named` is not a member; `what` begins its message."""
    for name in named:
        if name not in members:
            raise ModelProblem(
                f"{what} {name!r}, which is not a member", next=f"members are {', '.join(members)}"
            )


def kind_words(value: object) -> str:
    """Return the kind of a value in words."""
    name = "function" if inspect.isroutine(value) else type(value).__name__
    return "None" if value is None else f"a value of type {name}"


def place_of(call: Any) -> str:
    """Return file:line where a function begins, or ""."""
    # A `functools.partial` and a claim about parts have their function in `func`.
    while hasattr(call, "func"):
        call = call.func
    code = getattr(call, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def raised_at(error: BaseException) -> str:
    """Return file:line of the innermost frame that is not the checker's own, or ""."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _OWN not in Path(frame.filename).parents:
            return f"{frame.filename}:{frame.lineno}"
    return ""
