"""The parts that text reports have in common, and their layout in rows of a given width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from joinproto.cli.show.amounts import count
from joinproto.cli.show.cells import width as cells
from joinproto.cli.show.cells import wrap
from joinproto.cli.show.glyphs import Glyphs
from joinproto.cli.show.paint import Paint
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible


@frozen
class Text:
    """A line, and the blanks before its first row and before its other rows."""

    line: Line
    first: int = 2
    indent: int = 4


def heading(words: str) -> Iterator[Text]:
    """Yield an empty line, and the heading of the lines that follow."""
    yield Text(line(), 0)
    yield Text(line(Piece(words, Role.TITLE)), 0)


def fact_line(name: str, words: str) -> Text:
    """Return a name of at most 8 characters, and its fact after it."""
    return Text(line(Piece(name.ljust(9), Role.QUIET), words), 2, 11)


def claims(rows: Sequence[tuple[Piece, str, str, str]]) -> Iterator[Text]:
    """Yield claims in columns: mark, kind, name and remark of each claim."""
    yield from heading("properties")
    shown = [(mark, kind, visible(name), remark) for mark, kind, name, remark in rows]
    marks = max((len(mark.text) for mark, *_ in shown), default=0) + 2
    kinds = max((len(kind) for _, kind, *_ in shown), default=0) + 2
    names = min(max((cells(name) for _, _, name, _ in shown), default=0), 30) + 2
    for mark, kind, name, remark in shown:
        words = line(
            mark,
            " " * (marks - len(mark.text)),
            Piece(kind.ljust(kinds), Role.QUIET),
            Piece(name, Role.NAME),
            " " * max(names - cells(name), 2),
            remark,
        )
        yield Text(words, 2, 2 + marks + kinds if marks + kinds < 30 else 4)


def listed(statements: Sequence[str], most: int) -> Iterator[Text]:
    """Yield at most `most` warnings, and how many more there are; the JSON form has all."""
    for statement in statements[:most]:
        yield Text(line(Piece(visible(statement), Role.WARN)))
    if len(statements) > most:
        yield Text(line(f"and {count(len(statements) - most)} more; --json lists all"))


def laid_out(texts: Iterable[Text], *, width: int, glyphs: Glyphs, paint: Paint) -> str:
    """Return the lines, wrapped to rows of at most `width` cells, as one text."""
    rows = (
        row
        for text in texts
        for row in wrap(glyphs.line(text.line), width, first=text.first, indent=text.indent)
    )
    return painted(rows, paint)


def painted(rows: Iterable[Sequence[Piece]], paint: Paint) -> str:
    """Return rows of pieces as one text, without the blanks at the ends of rows."""
    return "\n".join(
        "".join(paint(piece.text, piece.role) for piece in _trimmed(row)) for row in rows
    )


def _trimmed(row: Sequence[Piece]) -> list[Piece]:
    kept = [piece for piece in row if piece.text]
    while kept and not kept[-1].text.strip(" "):
        kept.pop()
    if kept:
        kept[-1] = Piece(kept[-1].text.rstrip(" "), kept[-1].role)
    return kept
