"""Numbers of the command line that are numbers."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number that is one: neither infinite nor none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number
