"""How fast what was there before is copied to backups: as connections take it, or slower.  No I/O.

Source: hot standby, H5.
"""

from __future__ import annotations

from attrs import define

BURST_SECONDS = 0.1


@define
class Pace:
    """Of one backup.  `per_second`: messages; None: as many as its connection takes."""

    per_second: float | None
    _at: float | None = None
    _left: float = 0.0

    def take(self, now: float, most: int) -> int:
        """Return how many may be copied now, of `most`; they count as copied."""
        if self.per_second is None:
            return most
        since = 0.0 if self._at is None else now - self._at
        burst = max(1.0, self.per_second * BURST_SECONDS)
        self._at, self._left = now, min(burst, self._left + since * self.per_second)
        count = min(most, int(self._left))
        self._left -= count
        return count
