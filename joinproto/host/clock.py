"""The clock of a driver: seconds that never go back, and the wall time at which they began."""

from __future__ import annotations

import time
from pathlib import Path

from attrs import define, frozen


@frozen
class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        return time.monotonic()

    def epoch_ms(self) -> int:
        return max(0, int((time.time() - time.monotonic()) * 1000))


@define
class OffsetClock:
    """The machine's clocks plus the seconds in the file at `path`; for fault tests.

    A greater number moves both clocks ahead, as after a suspended machine wakes.  A lesser number
    moves only the wall time back, because `now` never goes back and never stands still.
    """

    path: Path
    _ahead: float = 0.0

    def now(self) -> float:
        self._ahead = max(self._ahead, self._offset())
        return time.monotonic() + self._ahead

    def epoch_ms(self) -> int:
        return max(0, int((time.time() + self._offset() - self.now()) * 1000))

    def _offset(self) -> float:
        try:
            return float(self.path.read_text("ascii"))
        except (OSError, ValueError):
            return 0.0
