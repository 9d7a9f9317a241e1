"""A resolved world, with its name and options on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from joinproto.check.options import words_of
from joinproto.check.problems import ModelProblem
from joinproto.check.tracebacks import its_own_fault
from joinproto.check.world import World


@frozen
class Loaded:
    """A resolved world, with its name and options on the command line.

    `target`: its name, or its file.  `options`: those given, by parameter.  `file`, `place`: of
    a user's own world.  `members`: the number given, and `sized` builds it with another number, at
    least `least`; both None for a world of one size.
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
        """A context for running a model: errors in its code get file and line."""
        if self.file is None:
            yield
            return
        try:
            with its_own_fault(self.file, what="the model"):
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
