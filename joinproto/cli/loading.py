"""The options of commands that take a world: they describe it, limit its search, or report it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from joinproto.check.memory import parse_size
from joinproto.check.options import FLAGS, TypedText
from joinproto.cli import completing
from joinproto.cli.options import FILE, Finite, option, together
from joinproto.errors import UsageProblem


def _number(flag: str, least: int, about: str) -> Callable[..., Any]:
    return option(flag, about, click.IntRange(min=least), metavar="N")


_SIZES = (
    _number("--members", 1, "How many members."),
    _number("--wait-for", 1, "How many members must be present before they serve."),
    _number("--crashes", 0, "The most crashes in one run."),
    _number("--partitions", 0, "The most partitions of the network in one run."),
    option("--lose/--no-lose", "Whether messages may be lost.", default=None),
    option("--register", "How members agree on the next view.", click.Choice(["atomic", "votes"])),
)
_MUTANT = option(
    "--mutant",
    "Build this mistake into the world.",
    metavar="NAME",
    shell_complete=completing.mutants,
)
_SET = option(
    ("--set", "more"),
    "Set another parameter of the world's function.",
    metavar="NAME=VALUE",
    multiple=True,
)


limit_options = together(
    _number("--max-states", 1, "Stop after this many states."),
    option("--max-memory", "Stop when the search uses this much memory: 500M, 2G.", metavar="SIZE"),
    option(
        "--max-seconds",
        "Stop after this many seconds.",
        Finite(min=0, min_open=True),
        metavar="S",
    ),
)
"""The options that end a search early: see `limits`."""

report_options = together(
    option(
        ("--report", "reports"),
        "Write a report: .xml (JUnit), .sarif or sarif.json, .md; can be given again.",
        FILE,
        metavar="FILE",
        multiple=True,
    ),
    option("--github", "Print annotations for GitHub, on standard error.", is_flag=True),
)
"""The options that write reports for other programs."""

world_options = together(*_SIZES, _MUTANT, _SET)
"""The options that describe a world: see `given`."""

options_but_mutant = together(*_SIZES, _SET)
"""The same options without `--mutant`, for a command that may take two mutants."""


def target(*, required: bool = True) -> Callable[..., Any]:
    """Return the argument that names a world or a file, for a click command."""
    words = "WORLD|FILE.py[::NAME]"
    return click.argument(
        "target",
        metavar=words if required else f"[{words}]",
        required=required,
        shell_complete=completing.worlds,
    )


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a world from a command's arguments; return the given options."""
    found = {name: arguments.pop(name) for name in FLAGS}
    for text in arguments.pop("more"):
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
        if found.get(name) is not None:
            raise click.UsageError(f"{name} is given twice")
        found[name] = TypedText(value)
    return {name: value for name, value in found.items() if value is not None}


def limits(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the options that end a search early from a command's arguments; return them."""
    return {
        "states_max": arguments.pop("max_states"),
        "memory_max_bytes": _bytes_of(arguments.pop("max_memory")),
        "seconds_max": arguments.pop("max_seconds"),
    }


def _bytes_of(max_memory: str | None) -> int | None:
    """Return the value of `--max-memory` in bytes."""
    if max_memory is None:
        return None
    try:
        return parse_size(max_memory)
    except ValueError as error:
        message = str(error)
    except OverflowError:  # "infG"
        message = f"{max_memory!r} is more memory than a machine can have"
    raise UsageProblem(f"--max-memory: {message}", next="give a size, such as 500M or 2G")
