"""Words of a command line: as they are shown, and as they are typed again.  No I/O."""

from __future__ import annotations

import os
from shlex import quote

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def typed(word: str) -> str:
    """Return the word as it is typed in a shell, in one readable line."""
    if word.isprintable():
        return quote(word)
    # Characters that cannot be printed are written as bash reads them.
    return f"$'{''.join(_escaped(char, quotes=True) for char in word)}'"


def shown(text: str) -> str:
    """Return a text in one line, with nothing in it that a terminal obeys."""
    if text.isprintable():
        return text
    return "".join(_escaped(char, quotes=False) for char in text)


def _escaped(char: str, *, quotes: bool) -> str:
    if char.isprintable() and (not quotes or char not in "\\'"):
        return char
    if char in _ESCAPES:
        return _ESCAPES[char]
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
