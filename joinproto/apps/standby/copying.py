"""Copies older messages to backups, as fast as their connections take them, or at a lower rate.

Source: hot standby, H5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import define, field

from joinproto.standby.catch_up import Message
from joinproto.standby.events import More

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

BURST_SECONDS = 0.1
AGAIN_SECONDS = 0.001
UNSENT_BYTES_MAX = 1 << 20
"""Copying pauses while a connection has this many unsent bytes."""
COPY_AT_ONCE = 100


@define
class CopyRate:
    """The rate of copying to one backup.  `per_second`: messages; None means no limit."""

    per_second: float | None
    _at: float | None = None
    _left: float = 0.0

    def take(self, now: float, most: int) -> int:
        """Return how many messages may be copied now, at most `most`, and count them as copied."""
        if self.per_second is None:
            return most
        since = 0.0 if self._at is None else now - self._at
        burst = max(1.0, self.per_second * BURST_SECONDS)
        self._at, self._left = now, min(burst, self._left + since * self.per_second)
        count = min(most, int(self._left))
        self._left -= count
        return count


@define(eq=False)
class Copies:
    """Copies to all backups of one broker."""

    core: Core
    _turns: int = 0
    _paces: dict[str, CopyRate] = field(factory=dict)

    def go_on(self) -> None:
        """Copy more messages, as far as connections take them (H5)."""
        core = self.core
        leading = core.state.leading
        if leading is None:
            return
        self._turns += 1
        for name, queues in leading.copies.items():
            first = self._turns % len(queues)
            # Each turn begins with another queue, because the first queue may use up the rate.
            for queue in (*queues[first:], *queues[:first]):
                if core.links.peers.unsent(name) >= UNSENT_BYTES_MAX:
                    break
                most = self.fitting(queue, leading.coming(name, queue, COPY_AT_ONCE))
                pace = self._paces.setdefault(name, CopyRate(core.settings.copying.per_second))
                if count := pace.take(core.now(), most):
                    core.do(More(name, queue, count))
        leading = core.state.leading
        if leading is not None and leading.copies:
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, core.schedule_turn_end)

    def fitting(self, queue: str, coming: Sequence[Message]) -> int:
        """Return how many of the next messages are copied at once, by their size."""
        size = 0
        for count, message in enumerate(coming, start=1):
            size += len(self.core.bodies.body(queue, message.id))
            if size >= UNSENT_BYTES_MAX:
                return count
        return COPY_AT_ONCE
