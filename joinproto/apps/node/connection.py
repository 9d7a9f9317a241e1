"""One client's connection: receives lines, sends one answer to each, and notes slow clients.

The event loop calls it, and no task waits: a task for each client took a third of a write's time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import anyio

LINE_BYTES_MAX = 64 * 2**10
PIECE_BYTES = 32 * 2**10


class Connection(asyncio.BufferedProtocol):
    """A client's connection.

    `idle_since`: the time from which the client has all answers and sends no line; None if it is
    not idle.  `slow_since`: the time from which an incomplete line, or an answer that the client
    does not take, waits; None if neither does.

    `came`: returns whether the connection may stay, and answers it if not.  `serve`: takes a line;
    must call `answer`, at once or later, or `send` and then `served`.  `gone`: called when the
    connection is lost.  `buffer`: for incoming bytes, shared by all connections.
    """

    transport: asyncio.Transport

    def __init__(
        self,
        buffer: memoryview,
        came: Callable[[Connection], bool],
        serve: Callable[[Connection, bytes], None],
        gone: Callable[[Connection], None],
    ) -> None:
        self.idle_since: float | None = None
        self.slow_since: float | None = None
        self._buffer = buffer
        self._came = came
        self._serve = serve
        self._gone = gone
        self._held = bytearray()
        self._is_served = False  # a line is being served: its answer is not complete
        self._is_full = False  # the client has not taken all of an answer yet
        self._is_ended = False  # the client will send nothing more
        self._is_over = False  # further lines of the client are ignored
        self._is_lost = False
        self._goes_on = False
        self._changed: anyio.Event | None = None

    # -- called by the loop --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        if self._came(self):
            self.idle_since = time.monotonic()
        else:
            self._is_over = True
            transport.close()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_over:
            return
        self._held += self._buffer[:nbytes]
        if not (self._is_served or self._is_full):
            self._go_on()
        elif len(self._held) > PIECE_BYTES:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        if self._is_over:
            return False
        self._is_ended = True
        self._go_on()
        return True

    def pause_writing(self) -> None:
        self._is_full = True
        self.slow_since = time.monotonic()

    def resume_writing(self) -> None:
        self._is_full = False
        self.slow_since = None
        self._tell()
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lost = True
        self._gone(self)
        self._tell()

    # -- called by a serving member ----------------------------------------------------------------

    def answer(self, data: bytes) -> None:
        """Answer the line, with at most `PIECE_BYTES`; never waits."""
        self._write(data)
        self.served()

    async def send(self, data: bytes) -> None:
        """Send `data`; return when the operating system has all of it.

        Raises `BrokenResourceError` if the connection is lost.
        """
        for at in range(0, len(data), PIECE_BYTES):
            self._write(data[at : at + PIECE_BYTES])
            while self._is_full and not self._is_lost:
                if self._changed is None:
                    self._changed = anyio.Event()
                await self._changed.wait()
            if self._is_lost:
                raise anyio.BrokenResourceError

    def served(self) -> None:
        """Say that the answer to the line is complete."""
        self._is_served = False
        if not self._goes_on:
            # Later, not at once: the caller is still serving the line before.
            if self._held or self._is_ended:
                asyncio.get_running_loop().call_soon(self._go_on)
            else:
                self.idle_since = time.monotonic()

    def end(self) -> None:
        """Ignore further lines, and close the connection when the answers are sent."""
        self._is_over = True
        self._held.clear()
        self.transport.close()

    def cut(self) -> None:
        """Close the connection now, without the answers that are not sent yet."""
        self._is_over = True
        self.transport.abort()

    # -- lines ---------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Serve lines until one has no complete answer yet."""
        if self._goes_on or self._is_lost:
            return
        self._goes_on = True
        try:
            while not (self._is_served or self._is_full or self._is_over):
                end = self._held.find(b"\n", 0, LINE_BYTES_MAX)
                if end < 0:
                    self._wait_for_more()
                    break
                line = bytes(self._held[:end])
                del self._held[: end + 1]
                self.idle_since = self.slow_since = None
                self._is_served = True
                self._serve(self, line)
        finally:
            self._goes_on = False

    def _wait_for_more(self) -> None:
        now = time.monotonic()
        if len(self._held) >= LINE_BYTES_MAX:
            self._refuse_line(now)
            return
        if self._is_ended:
            self.end()
            return
        if not self._held:
            self.idle_since, self.slow_since = now, None
        elif self.slow_since is None:
            self.idle_since, self.slow_since = None, now
        self.transport.resume_reading()

    def _refuse_line(self, now: float) -> None:
        # The rest of the line is read and dropped.  If the connection were closed with unread
        # bytes, the client might not get the answer.
        self._is_over = True
        self._held.clear()
        self._write(f"no line of more than {LINE_BYTES_MAX} bytes\n".encode())
        self.slow_since = now
        self.transport.write_eof()
        self.transport.resume_reading()

    def _write(self, data: bytes) -> None:
        if not (self._is_lost or self.transport.is_closing()):
            self.transport.write(data)

    def _tell(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()
