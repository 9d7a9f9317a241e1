"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def config_of(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names the configuration of what runs here."""
    return click.option(
        "--config",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"The {what}'s configuration, TOML.",
    )
