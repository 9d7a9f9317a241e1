"""An operator who has called a node: requests come in, and answers go out, in their order.

Source: Clusterer, U7.
"""

from __future__ import annotations

from collections import deque

import anyio
from attrs import define, field

from joinproto.net.door import Proved
from joinproto.net.link import CLOSED
from joinproto.net.pipes import RECEIVE_BYTES
from joinproto.net.refused import Refused

BODIES_MAX = 16
"""Requests that wait; with more the connection counts as ended."""


@define(eq=False)
class Caller:
    """An operator who has called.  `has_gone`: the connection has ended, so no answer arrives."""

    guest: Proved
    has_gone: bool = False
    _refused: Refused | None = None
    _bodies: deque[bytes] = field(factory=deque)
    _changed: anyio.Event = field(factory=anyio.Event)

    def __attrs_post_init__(self) -> None:
        self._bodies.extend(self.guest.left)

    async def hear(self) -> None:
        """Read until the connection ends; `body` raises for a bad frame."""
        try:
            while len(self._bodies) < BODIES_MAX:
                data = await self.guest.stream.receive(RECEIVE_BYTES)
                self._bodies.extend(self.guest.session.feed(data))
                self._tell()
        except CLOSED:
            pass
        except Refused as refused:
            self._refused = refused
        self.has_gone = True
        self._tell()

    async def body(self) -> bytes:
        """Return the next request; raises `anyio.EndOfStream`, `Refused`."""
        while not self._bodies:
            if self._refused is not None:
                raise self._refused
            if self.has_gone:
                raise anyio.EndOfStream
            await self._changed.wait()
        return self._bodies.popleft()

    async def say(self, body: bytes) -> None:
        await self.guest.stream.send(self.guest.session.seal(body))

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
