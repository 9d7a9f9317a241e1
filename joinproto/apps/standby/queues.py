"""A queue as its consumers see it: its ready messages, and the next consumer.  No I/O.

Only confirmed messages are ready, so no consumer gets a message that a failover could still lose.
The consumers that have credit take turns; each gets the first ready message.

Source: hot standby, H4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Protocol

from attrs import define, evolve, field, frozen


@frozen
class Held:
    """A message.

    `position`: its position in the queue.  `is_redelivered`: it may have been delivered before.
    """

    id: str
    position: int
    body: bytes
    durable: bool = False
    is_redelivered: bool = False


class MessageTaker(Protocol):
    """A consumer."""

    @property
    def credit(self) -> int:
        """The number of further messages that the consumer accepts now."""

    def send(self, held: Held) -> None:
        """Send a message to the consumer."""


@define(eq=False)
class LiveQueue:
    """One queue of a primary."""

    name: str
    _ready: list[tuple[int, str, Held]] = field(factory=list)  # a heap, by position
    _takers: deque[MessageTaker] = field(factory=deque)
    is_gone: bool = False

    def __len__(self) -> int:
        return len(self._ready)

    def offer(self, *helds: Held) -> None:
        """Make messages ready, and deliver them if a consumer has credit."""
        for held in helds:
            heappush(self._ready, (held.position, held.id, held))
        self.serve()

    def give_back(self, helds: Iterable[Held], *, is_redelivered: bool = True) -> None:
        """Make messages ready again, at their old positions."""
        self.offer(
            *(evolve(one, is_redelivered=True) for one in helds) if is_redelivered else helds
        )

    def add(self, taker: MessageTaker) -> None:
        self._takers.append(taker)
        self.serve()

    def remove(self, taker: MessageTaker) -> None:
        if taker in self._takers:
            self._takers.remove(taker)

    def serve(self) -> None:
        """Deliver as many messages as possible."""
        while self._ready and not self.is_gone:
            for _ in range(len(self._takers)):
                taker = self._takers[0]
                self._takers.rotate(-1)
                if taker.credit > 0:
                    taker.send(self._ready[0][2])
                    heappop(self._ready)  # after sending: a message that cannot be sent stays
                    break
            else:
                return
