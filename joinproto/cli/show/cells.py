"""Text in the cells of a terminal: how wide it is, and how it breaks into lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from joinproto.cli.show.pieces import Line, Piece

_NO_CELL = {"Mn", "Me"}
_EMOJI_FORM = "\ufe0f"
_WIDER_NOW = (("\u2630", "\u2637"), ("\u268a", "\u268f"), ("\u4dc0", "\u4dff"))


def width(text: str) -> int:
    """Return how many cells `text` takes; the number may be too large, but never too small."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    # This character makes the one before it wide, in terminals that support it.
    if char == _EMOJI_FORM:
        return 1
    if unicodedata.category(char) in _NO_CELL:
        return 0
    # Newer Unicode tables than Python's make more characters wide, and a terminal may use them.
    if char >= "\U00010000" or any(first <= char <= last for first, last in _WIDER_NOW):
        return 2
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(line: Line, room: int, *, first: int = 0, indent: int = 0) -> Iterator[tuple[Piece, ...]]:
    """Yield `line` in rows of at most `room` cells.

    The first row begins with `first` blanks, each later row with `indent`; the blanks count.
    Breaks at spaces; a word longer than a row is cut.  `room`: at least two more than the
    blanks, so that a wide character fits.
    """
    margin = [Piece(" " * indent)]
    row = [Piece(" " * first)]
    used, empty = first, True
    for word in _words(line):
        size = sum(width(piece.text) for piece in word)
        if not empty and used + 1 + size > room:
            yield tuple(row)
            row, used, empty = list(margin), indent, True
        if not empty:
            row.append(Piece(" "))
            used += 1
        for piece in word:
            for char_run in _cut(piece, room - used, room - indent):
                if not empty and used + width(char_run.text) > room:
                    yield tuple(row)
                    row, used = list(margin), indent
                row.append(char_run)
                used += width(char_run.text)
                empty = False
    yield tuple(row)


def _words(line: Line) -> Iterator[list[Piece]]:
    """Yield the words between spaces; a word may have pieces of several roles."""
    word: list[Piece] = []
    for piece in line.pieces:
        for number, part in enumerate(piece.text.split(" ")):
            if number:
                yield word
                word = []
            if part:
                word.append(Piece(part, piece.role))
    yield word


def _cut(piece: Piece, first: int, other: int) -> Iterator[Piece]:
    """Yield `piece` in runs that fit into `first` cells, then into `other` cells each."""
    if width(piece.text) <= first:
        yield piece
        return
    run, used, room = "", 0, first if first > 1 else other
    for char in piece.text:
        size = _cells(char)
        if run and used + size > room:
            yield Piece(run, piece.role)
            run, used, room = "", 0, other
        run += char
        used += size
    if run:
        yield Piece(run, piece.role)


def clip(text: str, room: int, *, more: str = "~") -> str:
    """Return `text`, or its beginning and the mark `more`, in at most `room` cells."""
    if width(text) <= room:
        return text
    kept, used = "", 0
    for char in text:
        used += _cells(char)
        if used > room - 1:
            break
        kept += char
    return f"{kept}{more}" if room > 0 else ""
