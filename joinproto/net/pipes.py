"""A proved connection in the form that a link needs: writes never wait, and a call brings bytes.

Under asyncio the calls come from the event loop itself (`direct.py`); over TLS, and under trio, two
tasks send and receive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import anyio
from anyio.abc import ByteStream
from attrs import define, field

from joinproto.net.direct import Direct

RECEIVE_BYTES = 256 * 2**10


class Pipe(Protocol):
    """A connection.  `unsent`: the number of bytes that the system has not taken yet."""

    @property
    def unsent(self) -> int: ...

    def write(self, data: bytes) -> None:
        """Send the bytes soon; never waits."""

    def hold(self) -> None:
        """Stop reading until `go_on`; bytes that were read before are still passed on."""

    def go_on(self) -> None: ...

    async def run(self, came: Callable[[bytes], None]) -> None:
        """Pass received bytes to `came`; raise the connection's end, or an exception of `came`."""


def pipe_of(stream: ByteStream) -> Pipe:
    """Return the fastest pipe for this stream."""
    return stream if isinstance(stream, Direct) else _Pumped(stream)


@define
class _Pumped:
    stream: ByteStream
    unsent: int = 0
    _waiting: deque[bytes] = field(factory=deque)
    _more: anyio.Event = field(factory=anyio.Event)
    _is_held: bool = False
    _goes_on: anyio.Event = field(factory=anyio.Event)

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self.unsent += len(data)
        self._more.set()

    def hold(self) -> None:
        self._is_held = True
        self._goes_on = anyio.Event()

    def go_on(self) -> None:
        self._is_held = False
        self._goes_on.set()

    async def run(self, came: Callable[[bytes], None]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_all)
            while True:
                came(await self.stream.receive(RECEIVE_BYTES))
                if self._is_held:
                    await self._goes_on.wait()

    async def _send_all(self) -> None:
        while True:
            while self._waiting:
                pieces, size = [], 0
                while self._waiting and size < RECEIVE_BYTES:
                    pieces.append(self._waiting.popleft())
                    size += len(pieces[-1])
                await self.stream.send(b"".join(pieces))
                self.unsent -= size
            self._more = anyio.Event()
            await self._more.wait()
