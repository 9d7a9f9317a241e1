"""The places in the code of a claim and of each step of a run.

A run is replayed with the members' real code.  The place of a step is the line at which a member's
method continues after it has chosen an arm of an `if` or a `match`.  If the step took rows of
decision tables, these have places as well.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from attrs import Factory, frozen

from joinproto.check.loaded import Loaded
from joinproto.check.local import LocalState, Outcome
from joinproto.check.member import MemberCode
from joinproto.check.problems import ModelProblem
from joinproto.check.reference import Reference, State
from joinproto.check.report import PropertyResult, Step, Trace
from joinproto.check.steps import Move, to_step

_METHODS = ("receive", "start", "offline")


@frozen
class Place:
    """A line of a file, counted from 1."""

    file: Path
    line: int

    @property
    def below_here(self) -> str | None:
        """Return the path from the current folder to the file; None if it is not in that folder."""
        here = Path.cwd()
        return self.file.relative_to(here).as_posix() if self.file.is_relative_to(here) else None


@frozen
class StepPlaces:
    """The places of a step: its code, and the rows of tables that it took, by rule."""

    code: Place
    rows: Mapping[str, Place] = Factory(dict)


def of_world(loaded: Loaded) -> Place:
    """Return the place of the code that makes the world."""
    if loaded.file is not None:
        return Place(loaded.file, int(loaded.place.rpartition(":")[2] or 1))
    from joinproto.check import catalogue

    code = catalogue.builder(catalogue.entry(loaded.target)).__code__
    return Place(Path(code.co_filename), code.co_firstlineno)


def of_claim(loaded: Loaded, claim: PropertyResult | None) -> Place:
    """Return the place of a claim's code; if that is not known, the place of its world."""
    for item in loaded.world.properties:
        for asked in item.asks if claim is not None and item.name == claim.name else ():
            code = getattr(asked, "__code__", None)
            if code is not None and not code.co_filename.startswith("<"):
                return Place(Path(code.co_filename), code.co_firstlineno)
    return of_world(loaded)


def of_steps(loaded: Loaded, trace: Trace) -> list[StepPlaces]:
    """Return the place of each step: in the code of a member that takes it, else of the world."""
    fallback = StepPlaces(of_world(loaded))
    found: list[StepPlaces] = []
    with suppress(ModelProblem), loaded.at_work():
        replay = _Replay(loaded)
        for step, taken in zip(trace.steps, replay.moves(trace), strict=False):
            rows = {rule: row for rule in step.rules if (row := _row_of(rule))}
            found.append(StepPlaces(replay.place(*taken) or fallback.code, rows))
    # Steps that cannot be replayed get the place of the world.
    return found + [fallback] * (len(trace.steps) - len(found))


class _RecordingReference(Reference):
    """The steps of a world.  `calls`: each call of a member's code, with an outcome of it."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.calls: list[tuple[MemberCode, LocalState, Hashable, Outcome]] = []

    def _ask(self, code: MemberCode, local: LocalState, event: Hashable) -> tuple[Outcome, ...]:
        outcomes = super()._ask(code, local, event)
        self.calls += [(code, local, event, outcome) for outcome in outcomes]
        return outcomes


class _Replay:
    """The replay of a run."""

    def __init__(self, loaded: Loaded) -> None:
        self._reference = _RecordingReference(loaded.world)

    def moves(self, trace: Trace) -> Iterator[tuple[Move, list[Any]]]:
        """Yield the move of each step and its calls; end at a step that cannot be replayed."""
        reference = self._reference
        text = reference.states_text
        state = next((one for one in reference.initials() if text(one) == trace.initial), None)
        for step in trace.steps:
            reference.calls = []
            taken = None if state is None else self._taken(state, step)
            if taken is None:
                return
            yield taken[0], reference.calls
            state = taken[1]

    def _taken(self, state: State, step: Step) -> tuple[Move, State] | None:
        for move, after in self._reference.successors(state):
            if to_step(move, self._reference.states_text(after)) == step:
                return move, after
        return None

    def place(self, move: Move, calls: Sequence[Any]) -> Place | None:
        """Return the line at which the first member of a move that has code for it continues."""
        for name, outcome in move.outcomes:
            for code, local, event, answer in calls:
                if code.name == name and answer is outcome:
                    place = _line_taken(code, partial(code.run, local, event))
                    if place is not None:
                        return place
        return None


def _line_taken(code: MemberCode, call: Callable[[], Any]) -> Place | None:
    """Return the line at which a member's method continues after it has chosen an arm."""
    kind = getattr(code.objects, "kind", None)
    # The methods as they are written: a mutant wraps a method.
    methods = [inspect.unwrap(getattr(kind, name, _no_method)) for name in _METHODS]
    wanted = {method.__code__: method for method in methods if isinstance(method, FunctionType)}
    lines: list[tuple[CodeType, int]] = []

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.append((frame.f_code, frame.f_lineno))
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, _event, _more: line if frame.f_code in wanted else None)
    try:
        call()
    finally:
        sys.settrace(before)
    if not lines:
        return None
    taken = lines[0][0]
    file, arms = Path(taken.co_filename), _arms(wanted[taken])
    seen = [number for code_of, number in lines if code_of is taken]
    return Place(file, next((one for one in reversed(seen) if one in arms), seen[0]))


def _no_method() -> None:
    """Stand for a method that a member does not have."""


@cache
def _arms(method: Callable[..., Any]) -> frozenset[int]:
    """Return the lines at which the arms of a method begin.

    Arms are those of a `match` and an `if`, and the statement after an `if` that ends with
    `return`.
    """
    with suppress(OSError, TypeError, SyntaxError):
        lines, first = inspect.getsourcelines(method)
        starts: list[ast.stmt] = []
        for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
            if isinstance(node, ast.match_case | ast.If):
                starts += [node.body[0], *getattr(node, "orelse", [])[:1]]
            body = getattr(node, "body", None)
            for guard, after in pairwise(body if isinstance(body, list) else []):
                if isinstance(guard, ast.If) and isinstance(guard.body[-1], ast.Return):
                    starts.append(after)
        return frozenset(first + start.lineno - 1 for start in starts)
    return frozenset()


@cache
def _row_of(rule: str) -> Place | None:
    """Return the place of the row "TABLE LABEL: NAME"; None if no loaded module has the row."""
    words = rule.split(" ", 2)
    if len(words) < 3:
        return None
    pattern = re.compile(rf'"{re.escape(words[1].rstrip(":"))}",\s*"{re.escape(words[2])}"')
    for key, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or not key.startswith("joinproto."):
            continue
        with suppress(OSError, UnicodeDecodeError):
            source = Path(file).read_text(encoding="utf-8")
            found = pattern.search(source)
            if found:
                return Place(Path(file), source.count("\n", 0, found.start()) + 1)
    return None
