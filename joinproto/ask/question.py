"""A question: its name, what goes in, what comes out, and who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, get_type_hints

from attrs import frozen

I = TypeVar("I")
A = TypeVar("A")


@frozen(kw_only=True)
class Question(Generic[I, A]):
    """`answer` takes an `asks` and returns an `answers`; both are attrs classes.

    `about`: one line of the list.  `example`: an input, as JSON.
    """

    name: str
    about: str
    asks: type[I]
    answers: type[A]
    answer: Callable[[I], A]
    example: Mapping[str, Any]


def question(name: str, /, **example: Any) -> Callable[[Callable[[I], A]], Question[I, A]]:
    """Make a question of what answers it: its types, and its docstring as the line of the list."""

    def made(answer: Callable[[I], A]) -> Question[I, A]:
        hints = get_type_hints(answer)
        answers = hints.pop("return")
        (asks,) = hints.values()
        return Question(
            name=name,
            about=answer.__doc__ or "",
            asks=asks,
            answers=answers,
            answer=answer,
            example=example,
        )

    return made
