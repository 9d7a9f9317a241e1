"""What a client sends that is no AMQP ends its own connection, in a line of the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from attrs import define, field

pytest.importorskip("proton")

from proton import Connection, Message, Terminus, Transport

from joinproto.standby.serving.amqp import ClientPort


class Anything:
    """A service that refuses nobody."""

    message_bytes_max = 1 << 20

    def refusal(self, *, is_admin: bool = False) -> None:
        return None


@define(eq=False)
class Wire(asyncio.Transport):
    """The broker's end of a connection."""

    sent: bytearray = field(factory=bytearray)
    is_closed: bool = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True


def said_to(begin: Callable[[Connection], None], raw: bytes = b"") -> bool:
    """Return whether a connection of a client that says this, then `raw`, is ended."""

    async def spoken() -> bool:
        service = cast("Any", Anything())
        port, wire = ClientPort("a", service=service, ports=set()), Wire()
        port.connection_made(wire)
        engine, connection = Transport(), Connection()
        engine.bind(connection)
        begin(connection)
        for _ in range(4):
            while (size := engine.pending()) > 0:
                port.data_received(engine.peek(size))
                engine.pop(size)
            port.flush()
            engine.push(bytes(wire.sent))
            wire.sent.clear()
        if raw:
            port.data_received(raw)
        port._wire = None
        return wire.is_closed

    return asyncio.run(spoken())


def opened(connection: Connection) -> None:
    connection.open()
    connection.session().open()


ATTACHED = bytes.fromhex(
    "0000003b02000000005312d00000002b0000000aa1026e6d43424040005328d00000000400000000"
    "005329d00000000800000001a102fffe404043"
)


def test_an_address_that_is_no_text_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An attach to a target named with the bytes FF FE, which are no UTF-8."""
    assert not said_to(opened)
    assert said_to(opened, ATTACHED)
    assert "a client broke the protocol: 'utf-8' codec" in caplog.text


def test_lists_in_lists_without_end_are_no_request_to_the_coordinator() -> None:
    """It is told so, and goes on; before, it came out as an error of Python."""
    inner = b"\x45"
    for _ in range(3_000):
        inner = b"\xd0" + (len(inner) + 4).to_bytes(4, "big") + b"\0\0\0\x01" + inner

    def begin(connection: Connection) -> None:
        opened(connection)
        link = connection.session().sender("tx")
        link.session.open()
        link.target.type = Terminus.COORDINATOR
        link.open()
        link.delivery("1")
        link.send(b"\0\x53\x77\0\x53\x31" + inner)
        link.advance()

    with pytest.raises(RecursionError):
        Message().decode(b"\0\x53\x77\0\x53\x31" + inner)
    assert not said_to(begin)
