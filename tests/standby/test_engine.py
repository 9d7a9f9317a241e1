"""One client's connection, as bytes: bytes that are not AMQP end the connection, and no received
bytes are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from attrs import define, field

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from proton import Connection, Message, Terminus, Transport

from joinproto.apps.standby import engine as engine_of_port
from joinproto.apps.standby.amqp import ClientPort, redelivered
from joinproto.apps.standby.clients import Clients, Refusal
from joinproto.apps.standby.core import Core
from joinproto.apps.standby.queues import LiveQueue
from tests.standby.host import Wire


@define
class AcceptingBroker:
    """A broker that takes every message."""

    ports: set[ClientPort] = field(factory=set)
    bodies: list[bytes] = field(factory=list)

    def makes_room(self) -> bool:
        return True

    def refusal(self, *, is_admin: bool = False) -> Refusal | None:
        return None

    def queue(self, name: str, done: Callable[[LiveQueue | str], None]) -> None:
        done(LiveQueue(name))

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        self.bodies.append(body)
        done("")

    def take(self, queue: str, held: Any, done: Callable[[], None]) -> None:
        done()

    def commit_whole(self, puts: Any, takes: Any, done: Callable[[str], None]) -> None:
        done("")


def talk(engine: Transport, port: ClientPort, wire: Wire) -> None:
    """Exchange all bytes; the client's bytes arrive at the port in one piece."""
    for _ in range(20):
        said = b""
        while (size := engine.pending()) > 0:
            said += engine.peek(size)
            engine.pop(size)
        if said:
            port.data_received(said)
        port.flush()
        back, wire.written = wire.written, b""
        while back:
            room = engine.capacity()
            engine.push(back[:room])
            back = back[room:]
        if not said:
            return


def ends_connection(begin: Callable[[Connection], None], raw: bytes = b"") -> bool:
    """Return whether the port ends the connection of a client.

    `begin`: opens the connection; `raw`: the bytes that the client sends after that.
    """

    async def has_ended() -> bool:
        port, wire = ClientPort("a", service=cast("Clients", AcceptingBroker())), Wire()
        port.connection_made(wire)
        engine, connection = Transport(), Connection()
        engine.bind(connection)
        begin(connection)
        for _ in range(4):
            while (size := engine.pending()) > 0:
                port.data_received(engine.peek(size))
                engine.pop(size)
            port.flush()
            engine.push(wire.written)
            wire.written = b""
        if raw:
            port.data_received(raw)
        port._wire = None
        return wire.has_ended

    return asyncio.run(has_ended())


def open_session(connection: Connection) -> None:
    connection.open()
    connection.session().open()


ATTACHED = bytes.fromhex(
    "0000003b02000000005312d00000002b0000000aa1026e6d43424040005328d00000000400000000"
    "005329d00000000800000001a102fffe404043"
)


def test_an_address_that_is_no_text_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An attach names a target by the bytes FF FE, which are not UTF-8."""
    assert not ends_connection(open_session)
    assert ends_connection(open_session, ATTACHED)
    assert "a client broke the protocol: 'utf-8' codec" in caplog.text


def test_deeply_nested_lists_do_not_end_the_connection() -> None:
    """Python cannot decode this request to the coordinator, and raises RecursionError."""
    inner = b"\x45"
    for _ in range(3_000):
        inner = b"\xd0" + (len(inner) + 4).to_bytes(4, "big") + b"\0\0\0\x01" + inner

    def begin(connection: Connection) -> None:
        open_session(connection)
        link = connection.session().sender("tx")
        link.session.open()
        link.target.type = Terminus.COORDINATOR
        link.open()
        link.delivery("1")
        link.send(b"\0\x53\x77\0\x53\x31" + inner)
        link.advance()

    with pytest.raises(RecursionError):
        Message().decode(b"\0\x53\x77\0\x53\x31" + inner)
    assert not ends_connection(begin)


# The body is a string of three bytes, and the first of them is not UTF-8.
NOT_UTF8 = bytes.fromhex("005370c0020141005377a103fd6263")


def test_a_message_that_cannot_be_read_goes_out_as_it_came() -> None:
    """A message that is delivered again is decoded to be marked; this message cannot be decoded."""
    assert NOT_UTF8 == redelivered(NOT_UTF8)


def test_a_piece_larger_than_protons_room_is_taken_whole() -> None:
    """The system may give many bytes at once; if some are left out, all later frames break."""

    async def scenario() -> None:
        taking, wire = AcceptingBroker(), Wire()
        port = ClientPort("c", service=cast("Clients", taking))
        port.connection_made(wire)
        connection, engine = Connection(), Transport()
        engine.bind(connection)
        connection.container = "client"
        connection.open()
        session = connection.session()
        session.open()
        sender = session.sender("s")
        sender.target.address = "q"
        sender.open()
        talk(engine, port, wire)
        body = Message(body=b"x" * 400_000).encode()

        sender.delivery("1")
        sender.send(body)
        sender.advance()
        talk(engine, port, wire)

        assert [len(body)] == [len(one) for one in taking.bodies]
        assert body == taking.bodies[0]
        assert not wire.has_ended

    asyncio.run(scenario())


def test_a_connection_that_no_client_opens_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proton's timer starts with the first bytes, so a silent client would stay for ever."""
    monkeypatch.setattr(engine_of_port, "TICK_SECONDS", 0.01)

    async def ended(*, opens: bool, seconds: float) -> bool:
        monkeypatch.setattr(engine_of_port, "OPEN_SECONDS", seconds)
        port, wire = ClientPort("a", service=cast("Clients", AcceptingBroker())), Wire()
        port.connection_made(wire)
        port.is_opened = opens
        await asyncio.sleep(0.1)
        port._wire = None
        return wire.has_ended

    assert asyncio.run(ended(opens=False, seconds=0.02))
    assert not asyncio.run(ended(opens=False, seconds=60))
    assert not asyncio.run(ended(opens=True, seconds=0.02))


def test_a_silent_client_is_closed_to_make_room_for_another(core: Core) -> None:
    """The oldest unopened connection is ended; if all are opened, there is no room."""
    core.clients.most = 2
    wires = [Wire() for _ in range(4)]

    async def scenario() -> None:
        ports = [ClientPort(name, service=core.clients) for name in "abcd"]
        ports[0].connection_made(wires[0])
        ports[0].is_opened = True
        for port, wire in zip(ports[1:3], wires[1:3], strict=True):
            port.connection_made(wire)
        ports[2].is_opened = True
        ports[3].connection_made(wires[3])
        assert {ports[0], ports[2]} == core.clients.ports
        for port in ports:
            port._wire = None

    asyncio.run(scenario())
    assert [False, True, False, True] == [wire.has_ended for wire in wires]
