"""Text in pieces, each with its role: the words, without layout.

The terminal shows a role as a colour, and the page as a class.  Every line is complete without
roles: a role never says anything that the text does not say.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from attrs import frozen


class Role(enum.Enum):
    """The purpose of a piece of text."""

    PLAIN = "plain"
    TITLE = "title"
    NAME = "name"
    NUMBER = "number"
    ACTION = "action"
    MESSAGE = "message"
    ATTRIBUTE = "attribute"
    OLD = "old"
    NEW = "new"
    CRASH = "crash"
    START = "start"
    SPLIT = "split"
    CYCLE = "cycle"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"


@frozen
class Piece:
    """A stretch of text with one role."""

    text: str
    role: Role = Role.PLAIN


@frozen
class Line:
    """One statement.  `member`: the member that it is about, if any."""

    pieces: tuple[Piece, ...]
    member: str | None = None

    @property
    def text(self) -> str:
        """Return the statement as plain text."""
        return "".join(piece.text for piece in self.pieces)


def line(*parts: str | Piece, member: str | None = None) -> Line:
    """Return a line of `parts`; bare text is plain."""
    pieces = (part if isinstance(part, Piece) else Piece(part) for part in parts)
    return Line(tuple(piece for piece in pieces if piece.text), member)


def listed(items: Iterable[Iterable[Piece]]) -> list[Piece]:
    """Return the pieces of all `items`, with commas between them."""
    out: list[Piece] = []
    for item in items:
        if out:
            out.append(Piece(", "))
        out += item
    return out


def visible(text: str) -> str:
    """Return `text` so that every character of it can be seen; `""` if it is empty.

    Characters that move the cursor, change the direction of writing, take no space or cannot be
    printed are written as escapes: texts come from models, and a model may hold anything.
    """
    if not text:
        return '""'
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
