"""A claim put to what members show: what goes wrong in it is told with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from models.endless import WATCH
from models.problems import ModelProblem, place_of, raised_at
from models.properties import Property
from models.view import NoMember


def ask(item: Property, call: Callable[..., Any], *shown: Any) -> bool:
    """Return what `call`, the claim or its premise, answers."""
    answer = guard(f"property {item.name!r}", lambda: call(*shown))
    return answer if type(answer) is bool else _truth(item, call, answer)


def ask_each(item: Property, shown: Iterable[tuple[Any, ...]]) -> list[bool]:
    """Return what the claim answers to each of `shown`, as so many calls of `ask` would."""
    holds, answers = item.holds, []

    def call() -> None:
        for one in shown:
            WATCH.go_on()
            answer = holds(*one)
            answers.append(answer if type(answer) is bool else _truth(item, holds, answer))

    guard(f"property {item.name!r}", call)
    return answers


def _truth(item: Property, call: Callable[..., Any], answer: Any) -> bool:
    if answer is None:
        raise ModelProblem(
            f"property {item.name!r} answered None, which is neither yes nor no",
            next="return what it finds in every case; a function without return gives None",
            place=place_of(call),
        )
    return bool(answer)


def guard(what: str, call: Callable[[], Any]) -> Any:
    """Return what `call` returns; what it raises is a `ModelProblem`."""
    try:
        return WATCH.over(what, call)
    except ModelProblem:
        raise
    except Exception as error:
        hint = "it must answer for every state; stopped members show DOWN (see view.up)"
        said = f"{what} raised {type(error).__name__}: {error}"
        if isinstance(error, NoMember):
            said, hint = f"{what} asks for {error.name!r}, which is not a member", error.next
        raise ModelProblem(said, next=hint, place=raised_at(error)) from error
