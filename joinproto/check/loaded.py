"""The class of a world that a command has loaded."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from joinproto.check.options import words_of
from joinproto.check.problems import ModelProblem
from joinproto.check.tracebacks import errors_of_model
from joinproto.check.world import World


@frozen
class Loaded:
    """A world that a command has loaded, with the target and options that were typed.

    `target`: its name, or its file.  `options`: parameter to value.  `file`, `place`: the file and
    the line of a user's own world, or None and "".  `members`: its number of members; `sized`
    builds the world with another number, at least `least`.  Both are None for a world of one size.
    """

    world: World
    target: str
    options: Mapping[str, Any]
    file: Path | None = None
    place: str = ""
    members: int | None = None
    sized: Callable[[int], World] | None = field(default=None, repr=False)
    least: int = 1

    @property
    def words(self) -> str:
        """Return the target and its options as they are typed."""
        return shlex.join([self.target, *words_of(self.options)])

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Return a context for running a model, which adds file and line to errors in its code."""
        if self.file is None:
            yield
            return
        try:
            with errors_of_model(self.file, what="the model"):
                yield
        except RecursionError as error:
            raise ModelProblem(
                "a value that a member holds contains itself, or is nested too deep",
                next="hold plain values, tuples, lists, dicts, sets, enums or frozen objects",
                place=self.place,
            ) from error
        except ModelProblem as problem:
            if problem.place or not self.place:
                raise
            raise ModelProblem(
                problem.message, next=problem.next, place=self.place, led_to=problem.led_to
            ) from problem
