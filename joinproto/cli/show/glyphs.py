"""The characters a chart is drawn with: boxes, or ASCII where the terminal has no more."""

from __future__ import annotations

from typing import TextIO

from attrs import astuple, frozen

from joinproto.cli.show.pieces import Line, Piece


@frozen
class Glyphs:
    """One character each, by default of boxes.

    `life`: of a running member, `dead`: of one that is down.
    """

    life: str = "│"
    dead: str = "┊"
    dash: str = "─"
    cross: str = "┼"
    left_end: str = "├"
    right_end: str = "┤"
    to_right: str = "►"
    to_left: str = "◄"
    own: str = "●"
    crash: str = "✗"
    start: str = "○"
    joint: str = "═"
    joint_cross: str = "╪"
    wall: str = "╌"
    top: str = "╭"
    side: str = "│"
    bottom: str = "╰"
    apart: str = "╏"
    is_ascii: bool = False

    def text(self, text: str) -> str:
        """Return `text` in characters that go with these."""
        if not self.is_ascii:
            return text
        return text.translate(_IN_ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def line(self, line: Line) -> Line:
        """Return `line` in characters that go with these."""
        pieces = tuple(Piece(self.text(piece.text), piece.role) for piece in line.pieces)
        return Line(pieces, line.member)


BOXES = Glyphs()
ASCII = Glyphs(
    life="|",
    dead=":",
    dash="-",
    cross="+",
    left_end="+",
    right_end="+",
    to_right=">",
    to_left="<",
    own="*",
    crash="X",
    start="o",
    joint="=",
    joint_cross="+",
    wall="~",
    top=".",
    side="|",
    bottom="'",
    apart="/",
    is_ascii=True,
)

_IN_ASCII = str.maketrans({"→": "->", "“": '"', "”": '"', "…": "...", "·": "-"})


def glyphs_for(stream: TextIO) -> Glyphs:
    """Return the glyphs that `stream` can write: its encoding decides."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        f"{''.join(astuple(BOXES)[:-1])}→“”…·".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BOXES
