"""A connection to a proved peer: bodies go out as sealed frames, received bodies to the member.

If a peer sends more than the member takes, only that peer must wait, and no message is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import anyio
from attrs import define, field

from joinproto.host.failures import only_one
from joinproto.host.ports import Came, Channel, Inbox, Item
from joinproto.net.direct import current_time
from joinproto.net.pipes import Pipe
from joinproto.net.refused import Refused
from joinproto.net.session import Session

FAREWELL = b"."
WATCH_SECONDS = 0.01
CLOSED = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


async def tell(inbox: Inbox, item: Item) -> None:
    """Give an item to the member; return once the member has taken the item, or has ended."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await inbox.send(item)


@define
class DirectInbox:
    """An inbox without a queue, which calls `take` with each item as the item comes."""

    take: Callable[[Item], None]

    def come(self, items: Sequence[Item]) -> int:
        for item in items:
            self.take(item)
        return len(items)

    async def send(self, item: Item) -> None:
        self.take(item)


@define(eq=False)
class Link:
    """A connection to `peer`.  `remote`: the peer and its address, for the log.

    `silence`: seconds after which a silent peer is given up.  `why`: why this side
    ended the link, "" if it did not.  `refused`: why a frame of the peer was refused, "" if none
    was.  `is_replaced`: there is a newer connection to this peer, so bodies that come here are
    dropped.
    """

    peer: str
    session: Session
    remote: str
    pipe: Pipe
    scope: anyio.CancelScope
    inbox: Inbox
    silence: float
    why: str = ""
    refused: str = ""
    is_replaced: bool = False
    _heard_at: float = field(init=False)
    _late: deque[Item] = field(factory=deque)  # items that found no room at the member
    _is_late: anyio.Event = field(factory=anyio.Event)
    _kept: list[bytes] = field(factory=list)
    _bytes_kept: int = 0

    def __attrs_post_init__(self) -> None:
        self._heard_at = current_time()

    @property
    def unsent(self) -> int:
        return self._bytes_kept + self.pipe.unsent

    def push(self, body: bytes) -> None:
        self.pipe.write(self.session.seal(body))

    def keep(self, body: bytes) -> None:
        """Hold the body back until the next `flush`."""
        self._kept.append(self.session.seal(body))
        self._bytes_kept += len(self._kept[-1])

    def flush(self) -> None:
        if self._kept:
            self.pipe.write(b"".join(self._kept))
            self._kept.clear()
            self._bytes_kept = 0

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.scope.cancel()

    async def carry(self, left: Iterable[bytes]) -> None:
        """Pass on the bodies `left` by the greeting, then all that follow, until the link ends.

        No error of the connection is raised: see `why` and `refused`.
        """
        try:
            self._hand_over(left)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch)
                tasks.start_soon(self._hand_over_late)
                await self.pipe.run(self._came)
        except* Refused as group:
            self.refused = str(only_one(group))
            self.why = "refused"
        except* CLOSED:
            pass
        except* TimeoutError:
            self.why = f"nothing was heard for {self.silence:g} s"

    def _came(self, data: bytes) -> None:
        self._heard_at = current_time()
        self._hand_over(self.session.feed(data))

    async def _watch(self) -> None:
        """Raise `TimeoutError` after `silence` seconds without bytes or waiting items."""
        while True:
            left = self._heard_at + self.silence - current_time()
            if left <= 0 and not self._late:
                raise TimeoutError
            await anyio.sleep(max(left, WATCH_SECONDS))

    def _hand_over(self, bodies: Iterable[bytes]) -> None:
        """Pass bodies to the member, including the correct bodies before a bad one."""
        items: list[Item] = []
        try:
            for body in bodies:
                if body == FAREWELL:
                    raise anyio.EndOfStream
                try:
                    channel = Channel(body[:1])
                except ValueError:
                    raise Refused(f"a frame for channel {body[:1]!r}") from None
                items.append(Came(self.peer, channel, body[1:]))
        finally:
            if not self.is_replaced:
                rest = items if self._late else items[self.inbox.come(items) :]
                if rest:
                    # Reading from a peer that floods stops until the member has taken the rest.
                    self._late.extend(rest)
                    self.pipe.hold()
                    self._is_late.set()

    async def _hand_over_late(self) -> None:
        while True:
            await self._is_late.wait()
            while self._late:
                if not self.is_replaced:
                    await tell(self.inbox, self._late[0])
                self._late.popleft()
            self._is_late = anyio.Event()
            self._heard_at = current_time()
            self.pipe.go_on()
