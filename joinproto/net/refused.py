"""Refused connections: their reasons, and a log that a flood of refusals cannot fill."""

from __future__ import annotations

import logging

from attrs import define, field

# Texts from others, made safe for one line of a log or of a terminal.


def one_line(text: str, limit: int = 1_000) -> str:
    """Return the first `limit` characters of `text`, with unprintable characters escaped.

    Line ends, control characters and changes of the writing direction must not make a text look
    like a line of our own.
    """
    if text.isprintable() and len(text) <= limit:
        return text
    shown = "".join(one if one.isprintable() else _escaped(one) for one in text[:limit])
    return shown if len(text) <= limit else f"{shown}.."


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


LINES_PER_SECOND = 5
AGAIN_SECONDS = 60.0
"""Seconds after which the same refusal is logged again."""
KNOWN_MAX = 256


class Refused(Exception):
    """The connection is given up.  The text is for the log, and contains no secret."""


@define
class Refusals:
    """Counts refusals, and logs the first few of each second; an equal refusal only once a minute.

    The number of refusals without a line is logged before the next line.
    """

    log: logging.Logger
    count: int = 0
    _second: int = -1
    _lines: int = 0
    _silent: int = 0
    _known: dict[tuple[str, str], float] = field(factory=dict)

    def record(self, now: float, peer: str, why: str) -> None:
        """Count a refusal of `peer`, and log it if it is new.  `now`: in seconds."""
        self.count += 1
        if int(now) != self._second:
            self._second, self._lines = int(now), 0
        if self._lines >= LINES_PER_SECOND or not self._is_news(now, peer, why):
            self._silent += 1
            return
        if self._silent:
            self.log.warning("refused %d more connections", self._silent)
            self._silent = 0
        self._lines += 1
        self.log.warning("refused %s: %s", one_line(peer), one_line(why))

    def _is_news(self, now: float, peer: str, why: str) -> bool:
        # A caller has another port each time, which does not make its refusal a new one.
        host = peer if " at " in peer else peer.rpartition(":")[0] or peer
        said = self._known.pop((host, why), None)
        is_news = said is None or now - said >= AGAIN_SECONDS
        self._known[host, why] = now if said is None or is_news else said
        if len(self._known) > KNOWN_MAX:
            del self._known[next(iter(self._known))]
        return is_news
