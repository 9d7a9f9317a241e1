"""Colours, for a terminal that has them: one small hook between words and screen.

Every text is complete without paint.  rich is used only when the stream is a
terminal; a pipe, NO_COLOR, TERM=dumb or a missing rich give plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from joinproto.cli.show.pieces import Role

Paint = Callable[[str, Role], str]

# In rich's words; only the sixteen colours, which every theme of a terminal keeps readable.
STYLES = {
    Role.TITLE: "bold",
    Role.NAME: "bold",
    Role.NUMBER: "bright_black",
    Role.ACTION: "bold",
    Role.MESSAGE: "cyan",
    Role.ATTRIBUTE: "bright_black",
    Role.OLD: "bright_black",
    Role.NEW: "bold yellow",
    Role.CRASH: "bold red",
    Role.START: "bold green",
    Role.SPLIT: "bold magenta",
    Role.CYCLE: "bold blue",
    Role.QUIET: "bright_black",
    Role.GOOD: "bold green",
    Role.BAD: "bold red",
    Role.WARN: "bold yellow",
}


def plain(text: str, _role: Role) -> str:
    """Return `text` as it is."""
    return text


def paint_for(stream: TextIO) -> Paint:
    """Return the painter for `stream`."""
    if not stream.isatty():
        return plain
    try:
        from rich.color import ColorSystem
        from rich.console import Console
        from rich.style import Style
    except ImportError:
        return plain
    console = Console(file=stream)
    if console.no_color or console.color_system is None or console.legacy_windows:
        return plain
    styles = {role: Style.parse(words) for role, words in STYLES.items()}

    def paint(text: str, role: Role) -> str:
        if not text or role not in styles:
            return text
        return styles[role].render(text, color_system=ColorSystem.STANDARD)

    return paint
