"""The bytes of one AMQP 1.0 connection: the input and output of Proton's engine.

Proton's reactor is not used.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod

from attrs import define, field
from proton import Collector, Connection, Event, ProtonException, Transport

log = logging.getLogger(__name__)

FRAME_BYTES_MAX = 1 << 16
IDLE_SECONDS = 30.0
OPEN_SECONDS = 10.0
"""Seconds after which a connection is closed if its client has not opened it by AMQP."""
TICK_SECONDS = 5.0
BROKEN = (ProtonException, UnicodeError, RecursionError)
"""The exceptions that Proton raises for malformed bytes, such as text that is not UTF-8."""


@define(eq=False)
class EnginePort(asyncio.Protocol, ABC):
    """Passes bytes to Proton's engine and back; `_handle` gets the engine's events."""

    container: str
    is_opened: bool = False
    began: float = field(factory=time.monotonic)
    _engine: Transport = field(factory=lambda: Transport(Transport.SERVER))
    _connection: Connection = field(factory=Connection)
    _collector: Collector = field(factory=Collector)
    _wire: asyncio.Transport | None = None
    _is_due: bool = False

    @property
    def is_connected(self) -> bool:
        """Return whether there is a connection."""
        return self._wire is not None

    @abstractmethod
    def _handle(self, event: Event) -> None:
        """Handle an event."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        sasl = self._engine.sasl()
        sasl.allowed_mechs("ANONYMOUS")
        self._engine.require_auth(False)
        self._engine.idle_timeout = IDLE_SECONDS
        self._engine.max_frame_size = FRAME_BYTES_MAX
        self._connection.container = self.container
        self._connection.collect(self._collector)
        self._engine.bind(self._connection)
        self._later()

    def data_received(self, data: bytes) -> None:
        try:
            while data:
                room = self._engine.capacity()
                if room <= 0:
                    # The engine has ended, or accepts no more bytes.  No bytes may be skipped.
                    self._end()
                    return
                self._engine.push(data[:room])
                data = data[room:]
                self._handle_events()
        except BROKEN as error:
            log.warning("a client broke the protocol: %s", error)
            self._end()
            return
        self.flush()

    def connection_lost(self, _error: Exception | None) -> None:
        self._wire = None
        self._engine.unbind()

    def soon(self) -> None:
        """Send pending bytes at the end of this turn of the loop."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send the engine's output."""
        self._is_due = False
        if self._wire is None:
            return
        try:
            self._handle_events()
            while (size := self._engine.pending()) > 0:
                data = self._engine.peek(size)
                if not data:
                    break
                self._wire.write(data)
                self._engine.pop(len(data))
                self._handle_events()
        except BROKEN as error:
            log.warning("a client broke the protocol: %s", error)
            self._end()
            return
        if self._engine.pending() < 0 or self._engine.closed:
            self._end()

    def drop(self) -> None:
        """Close the connection at once; unsent bytes are dropped."""
        if self._wire is not None:
            self._wire.abort()

    def _end(self) -> None:
        if self._wire is not None:
            self._wire.close()

    def _later(self) -> None:
        if self._wire is None:
            return
        if not self.is_opened and time.monotonic() - self.began >= OPEN_SECONDS:
            self._wire.abort()
            return
        self._engine.tick(time.monotonic())
        self.soon()
        asyncio.get_running_loop().call_later(TICK_SECONDS, self._later)

    def _handle_events(self) -> None:
        while (event := self._collector.peek()) is not None:
            self._handle(event)
            self._collector.pop()
