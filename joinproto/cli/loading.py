"""The options that describe a world, for each command that takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from joinproto.check.memory import parse_size
from joinproto.check.options import FLAGS, Words
from joinproto.cli import completing
from joinproto.errors import UsageProblem


def _number(flag: str, least: int, about: str) -> Callable[..., Any]:
    return click.option(flag, type=click.IntRange(min=least), metavar="N", help=about)


_SIZES = (
    _number("--members", 1, "How many members."),
    _number("--wait-for", 1, "How many must be there before they serve."),
    _number("--crashes", 0, "Crashes in one run, at most."),
    _number("--partitions", 0, "Splits of the network in one run, at most."),
    click.option("--lose/--no-lose", default=None, help="Whether messages may be lost."),
    click.option(
        "--register",
        type=click.Choice(["atomic", "votes"]),
        help="How members agree on what is so.",
    ),
)
_MUTANT = click.option(
    "--mutant",
    metavar="NAME",
    help="The world with a mistake built in.",
    shell_complete=completing.mutants,
)
_MORE = click.option(
    "--set",
    "more",
    metavar="NAME=VALUE",
    multiple=True,
    help="Another parameter of the world's function.",
)


_LIMITS = (
    _number("--max-states", 1, "Stop after so many states."),
    click.option("--max-memory", metavar="SIZE", help="Stop at so much memory: 500M, 2G."),
    click.option(
        "--max-seconds",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Stop after so many seconds.",
    ),
)


_REPORTS = (
    click.option(
        "--report",
        "reports",
        type=click.Path(path_type=Path),
        metavar="FILE",
        multiple=True,
        help="Write a report: .xml (JUnit), .sarif or sarif.json, .md; several times.",
    ),
    click.option("--github", is_flag=True, help="Print annotations for GitHub, on standard error."),
)


def target(*, required: bool = True) -> Callable[..., Any]:
    """Return the argument that names a world or a file, for a click command."""
    words = "WORLD|FILE.py[::NAME]"
    return click.argument(
        "target",
        metavar=words if required else f"[{words}]",
        required=required,
        shell_complete=completing.worlds,
    )


def world_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options that describe a world."""
    return _with((*_SIZES, _MUTANT, _MORE), command)


def options_but_mutant(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the same, but for the mistake, of which it takes two."""
    return _with((*_SIZES, _MORE), command)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options that end a search early."""
    return _with(_LIMITS, command)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options that write reports for other programs."""
    return _with(_REPORTS, command)


def _with(options: Sequence[Any], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a world out of a command's arguments; return those given."""
    found = {name: arguments.pop(name) for name in FLAGS}
    for text in arguments.pop("more"):
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
        if found.get(name) is not None:
            raise click.UsageError(f"{name} is given twice")
        found[name] = Words(value)
    return {name: value for name, value in found.items() if value is not None}


def bytes_of(max_memory: str | None) -> int | None:
    """Return what `--max-memory` says, in bytes."""
    if max_memory is None:
        return None
    try:
        return parse_size(max_memory)
    except ValueError as error:
        message = str(error)
    except OverflowError:  # "infG"
        message = f"{max_memory!r} is more than there can be"
    raise UsageProblem(f"--max-memory: {message}", next="joinproto check --help")
