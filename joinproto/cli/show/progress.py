"""One line on standard error that says how far a long search is.

On a terminal the line is overwritten, at most every tenth of a second.  Elsewhere, as in a log, a
new line is written, at most every ten seconds.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Protocol, Self, TextIO

from attrs import define, field

from joinproto.cli.show.amounts import duration, short, size

SECONDS_BETWEEN = 0.1
SECONDS_BETWEEN_LINES = 10.0
RATE_OVER_SECONDS = 3.0


class Tick(Protocol):
    """The progress of a search.  `frontier`: the number of states to expand."""

    @property
    def level(self) -> int: ...
    @property
    def distinct(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def frontier(self) -> int: ...
    @property
    def rss_bytes(self) -> int: ...
    @property
    def seconds(self) -> float: ...


@define
class Progress:
    """Shows ticks on one line; as a context manager it clears the line at the end.

    with Progress(sys.stderr) as progress:
        check(world, progress=progress)
    """

    stream: TextIO
    _is_terminal: bool = field(init=False)
    _last: float = field(init=False)
    _written: int = field(init=False, default=0)
    _recent: deque[tuple[float, int]] = field(init=False, factory=deque)

    def __attrs_post_init__(self) -> None:
        self._is_terminal = self.stream.isatty()
        # A search that ends soon writes no line into a log.
        self._last = float("-inf") if self._is_terminal else 0.0

    def __call__(self, event: Tick) -> None:
        """Show `event`, unless another event was shown a moment ago."""
        self.say(event.seconds, lambda: self._text(event))

    def say(self, seconds: float, text_of: Callable[[], str]) -> None:
        """Show the text that `text_of` returns, unless progress was shown a moment ago.

        `seconds`: the time since the beginning.
        """
        least = SECONDS_BETWEEN if self._is_terminal else SECONDS_BETWEEN_LINES
        if seconds - self._last < least:
            return
        self._last = seconds
        if not self._is_terminal:
            self.stream.write(f"{text_of()}\n")
            self.stream.flush()
            return
        text = text_of()[: self._columns() - 1]
        # Blanks instead of an escape sequence: every terminal understands them.
        self.stream.write("\r" + text.ljust(self._written))
        self.stream.flush()
        self._written = len(text)

    def close(self) -> None:
        """Clear the line, so that the report begins in its place."""
        if self._written:
            self.stream.write("\r" + " " * self._written + "\r")
            self.stream.flush()
            self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _text(self, event: Tick) -> str:
        """Return the line, short enough for 80 columns, with the most important part first."""
        return (
            f"level {event.level}: {short(event.distinct)} distinct of {short(event.generated)}"
            f", {short(self._rate(event))}/s, queue {short(event.frontier)}"
            f", {size(event.rss_bytes)}, {duration(event.seconds)}"
        )

    def _rate(self, event: Tick) -> int:
        """Return the steps found per second, over the last `RATE_OVER_SECONDS`."""
        self._recent.append((event.seconds, event.generated))
        while len(self._recent) > 2 and event.seconds - self._recent[0][0] > RATE_OVER_SECONDS:
            self._recent.popleft()
        then, generated = self._recent[0] if len(self._recent) > 1 else (0.0, 0)
        spent = event.seconds - then
        return round((event.generated - generated) / spent) if spent > 0 else 0

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80
