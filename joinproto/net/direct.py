"""TCP under asyncio without a task between the socket and its reader.

A `Direct` is a stream like any other during the greeting, and a `Pipe` afterwards: `run` passes
received bytes on by a call, in the same turn of the event loop.  Through a stream, each receive
takes four turns, which is most of the time of a client's write.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketAttribute, TaskGroup
from attrs import define

from joinproto.net.accepting import serve_each
from joinproto.net.addresses import Address

HELD_BYTES_MAX = 64 * 2**10
BUFFER_BYTES = 64 * 2**10
BACKLOG = 256
NEXT_ADDRESS_SECONDS = 0.25


def is_asyncio() -> bool:
    """Return whether the caller runs in a task of asyncio, not of trio."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def current_time() -> float:
    """Return the event loop's time in seconds, in tasks and in the loop's callbacks."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return anyio.current_time()


class Direct(asyncio.BufferedProtocol, ByteStream):
    """A TCP connection.  `made`: called with the `Direct` once it is connected."""

    def __init__(self, made: Callable[[Direct], object] = lambda stream: None) -> None:
        self._made = made
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._held = bytearray()
        self._is_ended = False
        self._is_lost = False
        self._is_full = False
        self._came: Callable[[bytes], None] | None = None
        self._failure: Exception | None = None
        self._changed: anyio.Event | None = None  # made by a waiting task, as callbacks cannot

    # -- called by the loop --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._take(bytes(self._buffer[:nbytes]))

    def _take(self, data: bytes) -> None:
        if self._came is not None:
            try:
                self._came(data)
            except Exception as error:  # noqa: BLE001  raised where the end is awaited
                self._failure = error
                self.transport.abort()
            return
        self._held += data
        if len(self._held) > HELD_BYTES_MAX:
            self.transport.pause_reading()
        self._tell()

    def eof_received(self) -> bool:
        self._is_ended = True
        self._tell()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lost = True
        self._tell()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._tell()

    # -- a stream ------------------------------------------------------------------------------

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return {SocketAttribute.remote_address: lambda: self._info("peername")}

    def _info(self, name: str) -> Any:
        found = self.transport.get_extra_info(name)
        if found is None:
            raise OSError("the connection is gone")
        return found

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        while not self._held:
            self._require_connected()
            if self._is_ended:
                raise anyio.EndOfStream
            await self._next_change()
        data = bytes(self._held[:max_bytes])
        del self._held[:max_bytes]
        if not self._is_lost and len(self._held) <= HELD_BYTES_MAX:
            self.transport.resume_reading()
        return data

    async def send(self, item: bytes) -> None:
        self._require_connected()
        self.transport.write(item)
        while self._is_full:
            await self._next_change()
            self._require_connected()

    async def send_eof(self) -> None:
        self.transport.write_eof()

    async def aclose(self) -> None:
        self.transport.abort()

    # -- a pipe --------------------------------------------------------------------------------

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def hold(self) -> None:
        self.transport.pause_reading()

    def go_on(self) -> None:
        self.transport.resume_reading()

    async def run(self, came: Callable[[bytes], None]) -> None:
        self._came = came
        if self._held:
            data = bytes(self._held)
            self._held.clear()
            self._take(data)
        if not self._is_lost:
            self.transport.resume_reading()
        while True:
            if self._failure is not None:
                raise self._failure
            self._require_connected()
            if self._is_ended:
                raise anyio.EndOfStream
            await self._next_change()

    def _require_connected(self) -> None:
        if self._is_lost or self.transport.is_closing():
            raise anyio.BrokenResourceError

    async def _next_change(self) -> None:
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()


async def connect(address: Address) -> ByteStream:
    """Return a connection to `address`; raises `OSError` if there can be none."""
    if not is_asyncio():
        return await anyio.connect_tcp(address.host, address.port)
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(
        Direct, address.host, address.port, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS
    )
    return stream


Answer = Callable[[ByteStream], Any]
"""Speaks with a peer that has connected; runs in its own task."""


@define
class Listening:
    """An open port that accepts no connections until `serve`.  `port`: its number."""

    port: int
    _serve: Callable[[Answer, TaskGroup], Coroutine[Any, Any, None]]
    _close: Callable[[], Awaitable[None]]

    async def serve(self, answer: Answer, tasks: TaskGroup) -> None:
        """Answer each connection in a task of `tasks`, until cancelled; then close the port."""
        try:
            await self._serve(answer, tasks)
        finally:
            with anyio.CancelScope(shield=True):
                await self._close()


async def listen(at: Address) -> Listening:
    """Return an open port; raises `OSError`.  If `at.port` is 0, the system chooses the port."""
    if is_asyncio():
        return await _listen_in_the_loop(at)
    listener = await anyio.create_tcp_listener(
        local_host=at.host, local_port=at.port, reuse_port=False, backlog=BACKLOG
    )
    port = listener.extra(SocketAttribute.local_port)
    return Listening(port, partial(serve_each, listener), listener.aclose)


async def _listen_in_the_loop(at: Address) -> Listening:
    arrived: deque[Direct] = deque()
    bell = asyncio.Event()

    def made(stream: Direct) -> None:
        # The event loop calls this outside of any task, where no task of anyio can be started.
        arrived.append(stream)
        bell.set()

    server = await asyncio.get_running_loop().create_server(
        lambda: Direct(made), at.host, at.port, backlog=BACKLOG, start_serving=False
    )

    async def serve(answer: Answer, tasks: TaskGroup) -> None:
        await server.start_serving()
        while True:
            await bell.wait()
            bell.clear()
            while arrived:
                tasks.start_soon(answer, arrived.popleft())

    async def close() -> None:
        server.close()

    return Listening(server.sockets[0].getsockname()[1], serve, close)
