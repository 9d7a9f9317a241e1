"""The characters a chart is drawn with: boxes, or ASCII where the terminal has no more."""

from __future__ import annotations

from typing import TextIO

from attrs import field, fields, frozen

from joinproto.cli.show.pieces import Line, Piece


@frozen
class Glyphs:
    """One character each.  `life`: of a running member, `dead`: of one that is down."""

    life: str
    dead: str
    dash: str
    cross: str
    left_end: str
    right_end: str
    to_right: str
    to_left: str
    own: str
    crash: str
    start: str
    joint: str
    joint_cross: str
    wall: str
    top: str
    side: str
    bottom: str
    apart: str
    is_ascii: bool = field(kw_only=True)

    def text(self, text: str) -> str:
        """Return `text` in characters that go with these."""
        if not self.is_ascii:
            return text
        return text.translate(_IN_ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def line(self, line: Line) -> Line:
        """Return `line` in characters that go with these."""
        pieces = tuple(Piece(self.text(piece.text), piece.role) for piece in line.pieces)
        return Line(pieces, line.member)


_SIGNS = {
    "life": ("│", "|"),
    "dead": ("┊", ":"),
    "dash": ("─", "-"),
    "cross": ("┼", "+"),
    "left_end": ("├", "+"),
    "right_end": ("┤", "+"),
    "to_right": ("►", ">"),
    "to_left": ("◄", "<"),
    "own": ("●", "*"),
    "crash": ("✗", "X"),
    "start": ("○", "o"),
    "joint": ("═", "="),
    "joint_cross": ("╪", "+"),
    "wall": ("╌", "~"),
    "top": ("╭", "."),
    "side": ("│", "|"),
    "bottom": ("╰", "'"),
    "apart": ("╏", "/"),
}
"""Each character by its name: of boxes, and of ASCII."""

BOXES, ASCII = (Glyphs(*(both[at] for both in _SIGNS.values()), is_ascii=bool(at)) for at in (0, 1))

_IN_ASCII = str.maketrans({"→": "->", "“": '"', "”": '"', "…": "...", "·": "-"})


def glyphs_for(stream: TextIO) -> Glyphs:
    """Return the glyphs that `stream` can write: its encoding decides."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    every = "".join(str(getattr(BOXES, item.name)) for item in fields(Glyphs))
    try:
        f"{every}→“”…·".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BOXES
