"""Options of commands: a short form for all, and those that several commands have."""

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
    """A folder by its path, or an address of one; gives a `spark_explore.places.Place`."""

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
    """Return an option of click.

    Args:
        names: the flag, or the flag and the name of the parameter.
        about: its line in the help; "" for none.
        kind: its type for click; None means text, or a flag with `is_flag`.
        more: as click takes it; `usual` is a default that the help shows.
    """
    if "usual" in more:
        more |= {"default": more.pop("usual"), "show_default": True}
    flags = (names,) if isinstance(names, str) else names
    return click.option(*flags, type=kind, help=about or None, **more)


def together(*options: Decorator) -> Decorator:
    """Return one decorator that adds all of these, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(options):
            command = one(command)
        return command

    return add


AS_JSON = option(("--json", "as_json"), "Print one JSON object.", is_flag=True)


def config_of(what: str) -> Decorator:
    """Return the option that names the configuration of the running program."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return option("--config", f"The {what}'s configuration, TOML.", kind, required=True)
