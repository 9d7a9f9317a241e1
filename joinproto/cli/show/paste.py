"""A run as a pytest test that takes the same steps with the members' real code.

The test passes as long as the run is possible and ends as it did.  Add it before a repair to see
the failure; reverse its last line after the repair to keep it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from joinproto.check.report import Report, Trace
from joinproto.cli.show.cells import width
from joinproto.cli.show.story import Moment, story_of
from joinproto.cli.show.words import headline, in_one_line

LINE_MAX = 79
"""Longer calls have one argument a line and a comma at the end, a form that formatters with any
setting leave alone."""

LINT_MAX = 100


def paste(report: Report, trace: Trace, *, options: Mapping[str, object] | None = None) -> str:
    """Return `trace` as the source of a test.

    `options`: arguments of `load_world` that build this world.
    """
    name = f"test_{_slug(trace.property)}_in_{_slug(report.world)}"
    body = [
        *_comment(headline(trace, world=report.world, members=report.members)),
        *_load(report.world, options or {}),
        "",
        *(row for moment in story_of(trace).moments for row in _step(moment)),
        *([""] if trace.steps else []),
        *_asserts(trace),
    ]
    rows = [
        "from joinproto.check import Replay, load_world",
        "",
        "",
        f"def {name}() -> None:",
        *(f"    {row}" if row else "" for row in body),
    ]
    return "\n".join(rows) + "\n"


def _load(world: str, options: Mapping[str, object]) -> Iterator[str]:
    values = [f"{key}={_value(value)}" for key, value in options.items()]
    arguments = [literal(world), *values]
    short = f"run = Replay(load_world({', '.join(arguments)}))"
    if width(short) + 4 <= LINE_MAX:
        yield short
    else:
        yield from _call("world = load_world", arguments)
        yield "run = Replay(world)"


def _step(moment: Moment) -> Iterator[str]:
    if moment.step is None:
        return
    member = moment.step.member
    yield from _comment(f"{moment.number}: {in_one_line(moment) or 'changes nothing'}")
    arguments = [literal(moment.step.label)]
    if member is not None:
        arguments.append(literal(member))
    yield from _call("run.step", arguments)


def _asserts(trace: Trace) -> Iterator[str]:
    """Yield assertions about the end of the run.

    A run without end is asserted by its return to an earlier state.  The claim is asserted only
    at the end of the steps, because `shows` looks at the present state.
    """
    if trace.loop_at is not None and trace.loop_at < len(trace.steps):
        yield f"assert run.loops_to({trace.loop_at})"
    name = [literal(trace.property)]
    match trace.kind:
        case "always" | "always step" | "implements":
            yield from _call("assert run.violates", name)
        case "sometimes":
            yield from _call("assert run.shows", name)
        case "no deadlock":
            yield "assert run.stuck()"
            yield from _call("assert not run.shows", name)
        case _:
            yield from _call("assert not run.shows", name)


def _call(function: str, arguments: list[str]) -> Iterator[str]:
    short = f"{function}({', '.join(arguments)})"
    if width(short) + 4 <= LINE_MAX:
        yield short
        return
    yield f"{function}("
    for argument in arguments:
        row = f"    {argument},"
        yield f"{row}  # noqa: E501" if width(row) + 4 > LINT_MAX else row
    yield ")"


def _comment(text: str) -> Iterator[str]:
    """Yield `text` as comment lines that no linter or type checker takes for a directive."""
    for row in textwrap.wrap(text, LINE_MAX - 8, break_on_hyphens=False):
        yield f"# | {row}".rstrip() if _DIRECTIVE.match(row) else f"# {row}".rstrip()


_DIRECTIVE = re.compile(
    r"(noqa|type|ruff|fmt|mypy|isort|pragma|pylint|pyright|flake8|nosec)\b", re.IGNORECASE
)


def literal(text: str) -> str:
    """Return `text` as Python source, in the quotes that a formatter would choose."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def _value(value: object) -> str:
    return literal(value) if isinstance(value, str) else repr(value)


def _slug(name: str) -> str:
    """Return `name` as part of a function's name; for a path of a model, its last part."""
    name = name.rpartition("/")[2].replace(".py", " ")
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "it"
