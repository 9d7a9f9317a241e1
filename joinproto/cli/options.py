"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class PlaceType(click.Path):
    """A folder by its path, or an address of one; gives a `spark_explore.places.Place`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from spark_explore.places import place_of

        return place_of(value) if isinstance(value, str) else value


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def config_of(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names the configuration of what runs here."""
    return click.option(
        "--config",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"The {what}'s configuration, TOML.",
    )
