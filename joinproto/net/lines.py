"""What others said, fit for one line of a log or of a terminal."""

from __future__ import annotations


def one_line(text: str, limit: int = 1_000) -> str:
    """Return `text` with all that does not print escaped, and at most so many characters of it.

    Line ends, control characters, and those that turn the direction of writing: none of them
    may look like a line of our own.
    """
    if text.isprintable() and len(text) <= limit:
        return text
    shown = "".join(one if one.isprintable() else _escaped(one) for one in text[:limit])
    return shown if len(text) <= limit else f"{shown}.."


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")
