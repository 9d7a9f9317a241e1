"""The queue of a member's events, with many producers and one consumer.

A full queue makes producers wait.  It is like a memory stream of anyio, but needs no turn of the
event loop for each item.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import anyio
from anyio.lowlevel import checkpoint
from attrs import define, field

from joinproto.host.ports import Item
from joinproto.net.direct import is_asyncio


class Signal:
    """A bell that many callers may ring and one task waits for; no ring is lost.

    Rings before the next return of `wait` count as one.
    """

    def __init__(self) -> None:
        self._is_rung = False
        self._sleeper: asyncio.Future[None] | anyio.Event | None = None

    def ring(self) -> None:
        self._is_rung = True
        sleeper, self._sleeper = self._sleeper, None
        if isinstance(sleeper, anyio.Event):
            sleeper.set()
        elif sleeper is not None and not sleeper.done():
            sleeper.set_result(None)

    async def wait(self) -> None:
        """Return once the bell was rung since the last return; other tasks always get a turn."""
        if self._is_rung:
            await checkpoint()
        elif is_asyncio():
            sleeper = self._sleeper = asyncio.get_running_loop().create_future()
            await sleeper
        else:
            event = self._sleeper = anyio.Event()
            await event.wait()
        self._is_rung = False


@define
class Inbox:
    """The items that wait for the consumer, at most about `limit`.

    `turn`: lets the consumer take them now, and returns whether it could.
    """

    limit: int
    bell: Signal = field(factory=Signal)
    turn: Callable[[], bool] = lambda: False
    _items: deque[Item] = field(factory=deque)
    _is_closed: bool = False
    _room: anyio.Event | None = None

    def come(self, items: Sequence[Item]) -> int:
        """Put in as many items as there is room for; return their number.

        A closed inbox takes all, and drops them.
        """
        if self._is_closed:
            return len(items)
        some = items[: max(0, self.limit - len(self._items))]
        self._items.extend(some)
        if not self.turn():
            self.bell.ring()
        return len(some)

    async def send(self, item: Item) -> None:
        """Wait for room, and put an item in.

        Raises `anyio.ClosedResourceError` once the inbox is closed.
        """
        while not self._is_closed and len(self._items) >= self.limit:
            if self._room is None:
                self._room = anyio.Event()
            await self._room.wait()
        if self._is_closed:
            raise anyio.ClosedResourceError
        self._items.append(item)
        self.bell.ring()

    def take(self, most: int) -> list[Item]:
        """Take out at most `most` items."""
        if len(self._items) <= most:
            items = list(self._items)
            self._items.clear()
        else:
            items = [self._items.popleft() for _ in range(most)]
            self.bell.ring()
        self._tell_of_room()
        return items

    def close(self) -> None:
        """Close the inbox; producers that wait for room get an error."""
        self._is_closed = True
        self._items.clear()
        self._tell_of_room()

    def _tell_of_room(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            room.set()
