"""The words of a command line, as they are shown or typed again; and lists in sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Annotated, TypeVar

from joinproto.codec.marks import Written

Key = TypeVar("Key")

WORDS_MAX = 8
"""The most directories and files of a command that are repeated; of more, the count is shown."""

COLLECT = "joinproto recover collect DIR > NAME.info"

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def _printable(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{text!r}")
    return text


Shown = Annotated[str, Written(str, str, _printable)]
"""A text that messages repeat: it has no control characters, which a terminal would obey."""


def typed(word: str) -> str:
    """Return the word quoted for a shell, in one readable line."""
    if word.isprintable():
        return quote(word)
    # Characters that cannot be printed are escaped for bash.
    return f"$'{''.join(_escaped(char, quotes=True) for char in word)}'"


def quoted_arguments(words: Sequence[str]) -> str:
    """Return the words of a command for the next command, quoted for a shell.

    `words`: the options, each with its value and already quoted, and the stores.
    """
    options = [word for word in words if word.startswith("--")]
    stores = stores_in(words)
    said = " ".join(map(typed, stores)) or "DIR..."
    if len(stores) > WORDS_MAX:
        said = f"[the same {len(stores)} directories and files]"
    return " ".join([*options, said])


def stores_in(words: Sequence[str]) -> list[str]:
    """Return the stores among the words of a command."""
    return [word for word in words if not word.startswith("--")]


def and_(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def has(words: Sequence[object]) -> str:
    return "has" if len(words) == 1 else "have"


def grouped(pairs: Iterable[tuple[Key, str]]) -> dict[Key, list[str]]:
    """Return the words of each key, in their order."""
    found: dict[Key, list[str]] = {}
    for key, word in pairs:
        found.setdefault(key, []).append(word)
    return found


def collect_on(hosts: str) -> str:
    """Return the advice to collect the stores of these hosts."""
    return f"on {hosts}: {COLLECT}; then pick again, with those files too"


def shown(text: str) -> str:
    """Return a text in one line, with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(_escaped(char, quotes=False) for char in text)


def _escaped(char: str, *, quotes: bool) -> str:
    if char.isprintable() and (not quotes or char not in "\\'"):
        return char
    if char in _ESCAPES:
        return _ESCAPES[char]
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
