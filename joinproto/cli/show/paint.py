"""Colours for terminals that have them: the function that colours a piece of text.

Every text is complete without paint.  A pipe, NO_COLOR or TERM=dumb give plain text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

import click

from joinproto.cli.show.pieces import Role

Paint = Callable[[str, Role], str]

# Only the sixteen basic colours, which every terminal theme keeps readable.
COLOURS = {
    Role.NUMBER: "bright_black",
    Role.MESSAGE: "cyan",
    Role.ATTRIBUTE: "bright_black",
    Role.OLD: "bright_black",
    Role.NEW: "yellow",
    Role.CRASH: "red",
    Role.START: "green",
    Role.SPLIT: "magenta",
    Role.CYCLE: "blue",
    Role.QUIET: "bright_black",
    Role.GOOD: "green",
    Role.BAD: "red",
    Role.WARN: "yellow",
}
LIGHT = {Role.PLAIN, Role.NUMBER, Role.MESSAGE, Role.ATTRIBUTE, Role.OLD, Role.QUIET}
"""Roles that are not bold."""


def plain(text: str, _role: Role) -> str:
    """Return `text` as it is."""
    return text


def paint_for(stream: TextIO) -> Paint:
    """Return the function that colours texts for `stream`; `plain` if it shows no colours."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain

    def paint(text: str, role: Role) -> str:
        if not text or role is Role.PLAIN:
            return text
        return click.style(text, fg=COLOURS.get(role), bold=role not in LIGHT or None)

    return paint
