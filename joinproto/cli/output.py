"""The terminal output of commands: width, colours, and streams."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from typing import Any, TextIO

from attrs import frozen

from joinproto.check.report import Trace
from joinproto.cli.show.glyphs import Glyphs, glyphs_for
from joinproto.cli.show.layout import Text, laid_out
from joinproto.cli.show.paint import Paint, paint_for
from joinproto.cli.show.pieces import Line


@frozen
class Terminal:
    """The layout of text for standard output."""

    width: int
    glyphs: Glyphs
    paint: Paint

    @classmethod
    def now(cls) -> Terminal:
        """Return the layout for the present standard output."""
        stream = sys.stdout or io.StringIO()
        if isinstance(stream, io.TextIOWrapper):
            # Names and contents come from models, and a model may hold any character.
            stream.reconfigure(errors="backslashreplace")
        width = shutil.get_terminal_size((100, 24)).columns
        return cls(width, glyphs_for(stream), paint_for(stream))

    def layout(self) -> dict[str, Any]:
        """Return the arguments `width`, `glyphs` and `paint` of functions that draw text."""
        return {"width": self.width, "glyphs": self.glyphs, "paint": self.paint}

    def paragraph(self, text: Line, *, first: int = 0, indent: int = 0) -> str:
        """Return `text`, wrapped: `first` blanks before the first row, `indent` before others."""
        return self.lay_out([Text(text, first, indent)])

    def lay_out(self, texts: Iterable[Text]) -> str:
        """Return `texts`, wrapped to the terminal's width, or to 60 columns if it is less."""
        return laid_out(texts, **{**self.layout(), "width": max(self.width, 60)})

    def chart(self, trace: Trace) -> str:
        """Return the run as a sequence chart."""
        from joinproto.cli.show.chart import chart  # most worlds hold, and need no chart

        return chart(trace, **self.layout())


def error_stream() -> TextIO:
    """Return standard error; if Python has none, a stream in memory that is never read."""
    return sys.stderr or io.StringIO()


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return error_stream().isatty()


def alone_on_stdout(as_json: bool) -> AbstractContextManager[Any]:
    """With `--json`, send a model's own output to standard error: stdout has one object."""
    return redirect_stdout(error_stream()) if as_json else nullcontext()
