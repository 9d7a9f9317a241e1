"""A question: its name, what goes in, what comes out, and who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

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
