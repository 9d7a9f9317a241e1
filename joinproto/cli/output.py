"""The terminal output shared by `check` and `simulate`: width, colours, and use of stdout."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from attrs import frozen

from joinproto.check.report import Trace
from joinproto.cli.show.cells import wrap
from joinproto.cli.show.glyphs import Glyphs, glyphs_for
from joinproto.cli.show.paint import Paint, paint_for, plain
from joinproto.cli.show.pieces import Line


@frozen
class Terminal:
    """The layout of text for standard output."""

    width: int
    glyphs: Glyphs
    paint: Paint

    @classmethod
    def now(cls, *, colours: bool = True) -> Terminal:
        """Return the terminal of the present standard output; `colours` cost the import of rich."""
        stream = sys.stdout or io.StringIO()
        if isinstance(stream, io.TextIOWrapper):
            # Names and contents come from models, and a model may hold any character.
            stream.reconfigure(errors="backslashreplace")
        width = shutil.get_terminal_size((100, 24)).columns
        return cls(width, glyphs_for(stream), paint_for(stream) if colours else plain)

    def layout(self) -> dict[str, Any]:
        """Return the arguments of everything in `joinproto.cli.show` that draws text."""
        return {"width": self.width, "glyphs": self.glyphs, "paint": self.paint}

    def paragraph(self, text: Line, *, first: int = 0, indent: int = 0) -> str:
        """Return `text` in rows of the terminal's width, after `first`, then `indent` blanks."""
        rows = wrap(self.glyphs.line(text), max(self.width, 60), first=first, indent=indent)
        return "\n".join(
            "".join(self.paint(piece.text, piece.role) for piece in row).rstrip(" ") for row in rows
        )

    def chart(self, trace: Trace) -> str:
        """Return the run as a sequence chart."""
        from joinproto.cli.show.chart import chart  # inside: most worlds hold

        return chart(trace, **self.layout())


def error_stream() -> TextIO:
    """Return standard error, or a stream that is never read where it is closed."""
    return sys.stderr or io.StringIO()


def is_terminal() -> bool:
    """Return whether a person looks at standard error."""
    return error_stream().isatty()


@contextmanager
def alone_on_stdout(as_json: bool) -> Iterator[None]:
    """With `--json`: a model's output goes to standard error; stdout has one object."""
    if not as_json:
        yield
        return
    with redirect_stdout(error_stream()):
        yield
