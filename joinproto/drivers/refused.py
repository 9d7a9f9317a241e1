"""A connection that is refused: why, and a log line that a flood cannot multiply."""

from __future__ import annotations

import logging

from attrs import define

LINES_PER_SECOND = 5


class Refused(Exception):
    """This connection is given up; the text is for the log, and names no secret."""


@define
class Refusals:
    """Counts refusals, and logs the first few of each second; the rest as a number."""

    log: logging.Logger
    count: int = 0
    _second: int = -1
    _lines: int = 0
    _silent: int = 0

    def say(self, now: float, whom: str, why: str) -> None:
        """Note that `whom` was refused; `now` in seconds."""
        self.count += 1
        if int(now) != self._second:
            if self._silent:
                self.log.warning("refused %d more connections", self._silent)
            self._second, self._lines, self._silent = int(now), 0, 0
        if self._lines >= LINES_PER_SECOND:
            self._silent += 1
            return
        self._lines += 1
        self.log.warning("refused %s: %s", whom, why)
