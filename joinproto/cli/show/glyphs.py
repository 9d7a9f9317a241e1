"""The characters that draw a chart: box characters, or ASCII if the terminal has no others."""

from __future__ import annotations

from typing import TextIO

from attrs import astuple, frozen

from joinproto.cli.show.pieces import Line, Piece


@frozen
class Glyphs:
    """The characters of a chart, one for each purpose; box characters by default.

    `life`: the lifeline of a running member.  `dead`: the lifeline of a member that is down.
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
        """Return `text`; in ASCII if these characters are ASCII."""
        if not self.is_ascii:
            return text
        return text.translate(_IN_ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def line(self, line: Line) -> Line:
        """Return `line`; in ASCII if these characters are ASCII."""
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
    """Return the glyphs that the encoding of `stream` can write."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        f"{''.join(astuple(BOXES)[:-1])}→“”…·".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BOXES
