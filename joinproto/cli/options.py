"""A short way to write the options of commands, and the options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)
INPUT = click.argument("file", type=click.File("rb"))


class PlaceType(click.Path):
    """The path or the address of a folder, converted to a `spark_explore.places.Place`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from spark_explore.places import place_of

        return place_of(value) if isinstance(value, str) else value


class Finite(click.FloatRange):
    """A number that is neither infinite nor NaN."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


def option(names: str | tuple[str, ...], about: str, kind: Any = None, **more: Any) -> Decorator:
    """Return the decorator that adds an option to a click command.

    Args:
        names: the flag, or the flag and the name of the parameter.
        about: the option's line in the help; "" for none.
        kind: the type of the value for click; None means text, or a flag with `is_flag`.
        more: other arguments of `click.option`; `usual` is a default that the help shows.
    """
    if "usual" in more:
        more |= {"default": more.pop("usual"), "show_default": True}
    flags = (names,) if isinstance(names, str) else names
    return click.option(*flags, type=kind, help=about or None, **more)


def together(*options: Decorator) -> Decorator:
    """Return one decorator that adds all `options`, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(options):
            command = one(command)
        return command

    return add


AS_JSON = option(("--json", "as_json"), "Print one JSON object.", is_flag=True)


def config_of(program: str) -> Decorator:
    """Return the option that names the program's configuration file."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return option("--config", f"The {program}'s configuration, TOML.", kind, required=True)
