"""The port for clients of a node with one member, in this process: its answers to clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from joinproto.apps.node import clients
from joinproto.apps.node.clients import ClientPort
from joinproto.apps.node.process import Node
from joinproto.apps.node.settings import read_settings
from joinproto.net.addresses import Address
from tests.host.nearby import PATIENCE, until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.anyio

NEVER = 3_600.0


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tolerate pauses of this machine before a client is cut off; look often for slow clients."""
    monkeypatch.setattr(clients, "SLOW_SECONDS", NEVER)
    monkeypatch.setattr(clients, "LOOK_SECONDS", 0.05)


@pytest.fixture
def anyio_backend() -> str:
    """Return the backend that a node runs on."""
    return "asyncio"


async def test_a_port_cancelled_while_it_begins_to_listen_is_closed() -> None:
    """A node that founds with the members it found starts again at once on the same addresses."""
    nothing: Any = None  # no client connects
    (number,) = free_ports(1)
    for turns in range(8):
        port = ClientPort(Address("127.0.0.1", number))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(port.serve, nothing, nothing)
            for _ in range(turns):
                await asyncio.sleep(0)
            tasks.cancel_scope.cancel()

        with socket.create_server(("127.0.0.1", number)):
            pass


@asynccontextmanager
async def serving(folder: Path, tables: str = "") -> AsyncIterator[ClientPort]:
    """Run a node, which serves when the block begins.  `tables`: TOML for its settings."""
    listen, port = free_ports(2)
    config = folder / "node.toml"
    config.write_text(
        'member = "a"\ncluster = "c"\ndata = "data"\nelectors = ["a"]\nwait_for = 1\n'
        f'listen = "{listen}"\nclients = "{port}"\n{tables}'
    )
    settings = read_settings(config)
    front = ClientPort(settings.clients)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Node(settings, lambda: front).run)
        await until(lambda: front.why == "")
        yield front
        tasks.cancel_scope.cancel()


class Client:
    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self.lines = BufferedByteReceiveStream(stream)

    @classmethod
    async def of(cls, port: ClientPort) -> Client:
        with anyio.fail_after(PATIENCE):
            while True:
                try:
                    return cls(await anyio.connect_tcp(port.address.host, port.address.port))
                except OSError:
                    await anyio.sleep(0.01)  # the node serves, but the port is not open yet

    async def ask(self, text: bytes) -> bytes:
        await self.stream.send(text + b"\n")
        return await self.line()

    async def line(self) -> bytes:
        with anyio.fail_after(PATIENCE):
            return await self.lines.receive_until(b"\n", 100_000)

    async def is_ended(self) -> bool:
        with anyio.fail_after(PATIENCE):
            try:
                await self.stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return True
        return False


async def test_an_answer_comes_in_pieces_and_is_whole(tmp_path: Path) -> None:
    async with serving(tmp_path) as port:
        client = await Client.of(port)
        texts = [b"%d " % number + b"x" * 3_000 for number in range(1, 51)]
        for number, text in enumerate(texts, 1):
            assert b"ok %d" % number == await client.ask(b"append " + text)

        await client.stream.send(b"read\nread 50\nread 51\nget 7\nget 51\nnonsense\n")

        for number, text in enumerate(texts, 1):
            assert b"%d " % number + text == await client.line()
        assert b"end 50" == await client.line()
        assert b"50 " + texts[-1] == await client.line()
        assert [b"end 50", b"end 50"] == [await client.line(), await client.line()]
        assert b"ok " + texts[6] == await client.line()
        assert b"no such frame" == await client.line()
        assert (await client.line()).startswith(b"no such command")
        assert 50 == port.acknowledged
        await client.stream.aclose()


async def test_answers_come_in_the_order_of_the_lines(tmp_path: Path) -> None:
    async with serving(tmp_path) as port:
        client = await Client.of(port)
        lines = [b"append text %d\nget %d\n" % (number, number) for number in range(1, 201)]
        await client.stream.send(b"".join(lines))

        for number in range(1, 201):
            assert b"ok %d" % number == await client.line()
            assert b"ok text %d" % number == await client.line()
        await client.stream.send(b"quit\nappend never\n")
        assert await client.is_ended()
        await client.stream.aclose()
        assert 200 == port.acknowledged


async def test_a_client_that_has_closed_its_side_still_gets_its_answers(tmp_path: Path) -> None:
    async with serving(tmp_path) as port:
        client = await Client.of(port)
        await client.stream.send(b"append one\nappend two\nread")
        await client.stream.send_eof()

        assert [b"ok 1", b"ok 2"] == [await client.line(), await client.line()]
        assert await client.is_ended()
        await client.stream.aclose()
        await until(lambda: port.count == 0)


async def test_a_client_that_leaves_before_the_answer_is_no_longer_counted(tmp_path: Path) -> None:
    """A write whose client has left is subtracted from the count, too."""
    async with serving(tmp_path) as port:
        for number in range(20):
            client = await Client.of(port)
            await client.stream.send(b"append %d\nread\n" % number)
            await anyio.aclose_forcefully(client.stream)
        await until(lambda: port.count == 0 and port.log.pending == 0)

        client = await Client.of(port)
        assert (await client.ask(b"append one more")).startswith(b"ok ")
        assert 0 == port._pending_bytes
        await client.stream.aclose()


async def test_a_client_that_takes_no_answers_is_no_longer_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are not read, either: they wait at the client, not here."""
    async with serving(tmp_path) as port:
        client = await Client.of(port)
        assert b"ok 1" == await client.ask(b"append " + b"x" * 60_000)
        monkeypatch.setattr(clients, "SLOW_SECONDS", 0.2)
        with anyio.fail_after(PATIENCE), suppress(anyio.BrokenResourceError):
            while True:
                await client.stream.send(b"get 1\n" * 1_000)

        await until(lambda: port.count == 0)
        await client.stream.aclose()


async def test_a_line_that_is_too_long_or_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as port:
        long = await Client.of(port)
        assert b"no line of more than 65536 bytes" == await long.ask(b"append " + b"x" * 70_000)
        await long.stream.aclose()

        monkeypatch.setattr(clients, "SLOW_SECONDS", 0.2)
        half = await Client.of(port)
        await half.stream.send(b"appe")

        assert await half.is_ended()
        await half.stream.aclose()


async def test_a_client_that_is_silent_for_long_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.2)
    async with serving(tmp_path) as port:
        idle = await Client.of(port)

        assert await idle.is_ended()
        await until(lambda: port.count == 0)
        await idle.stream.aclose()


async def test_a_client_that_does_not_take_an_answer_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as port:
        client = await Client.of(port)
        for _ in range(300):
            assert (await client.ask(b"append " + b"x" * 50_000)).startswith(b"ok")
        slow = await Client.of(port)
        await until(lambda: port.count == 2)
        await slow.stream.send(b"read\n")
        monkeypatch.setattr(clients, "SLOW_SECONDS", 0.2)

        await until(lambda: port.count == 1)
        monkeypatch.setattr(clients, "SLOW_SECONDS", NEVER)
        assert (await client.ask(b"append more")).startswith(b"ok")
        await client.stream.aclose()
        await slow.stream.aclose()


async def test_the_longest_idle_client_is_cut_off_when_all_places_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "CLIENTS_MAX", 2)
    async with serving(tmp_path) as port:
        first, second = await Client.of(port), await Client.of(port)
        assert b"ok 1" == await first.ask(b"append one")
        assert b"ok 2" == await second.ask(b"append two")
        refused = await Client.of(port)
        assert b"no too-many-clients" == await refused.line()

        monkeypatch.setattr(clients, "SLOW_SECONDS", 0.0)
        third = await Client.of(port)

        assert await first.is_ended()
        monkeypatch.setattr(clients, "SLOW_SECONDS", NEVER)
        assert b"ok 3" == await third.ask(b"append three")
        assert b"ok 4" == await second.ask(b"append four")
        for one in (first, second, third, refused):
            await one.stream.aclose()


async def test_frames_that_wait_to_be_committed_are_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PENDING_BYTES_MAX", 0)
    async with serving(tmp_path) as port:
        client = await Client.of(port)

        assert b"no too-many-pending" == await client.ask(b"append one")

        monkeypatch.setattr(clients, "PENDING_BYTES_MAX", 1)
        assert b"ok 1" == await client.ask(b"append one")
        assert b"ok 2" == await client.ask(b"append what was acknowledged counts no more")
        await client.stream.aclose()


async def test_a_read_after_a_drop_begins_with_the_first_frame_that_is_left(
    tmp_path: Path,
) -> None:
    """A client that asks for a dropped frame is told so, with the last dropped one."""
    async with serving(tmp_path, "[log]\nsnapshot_every = 2\nkeep_frames = 3\n") as port:
        client = await Client.of(port)
        for number in range(1, 31):
            assert b"ok %d" % number == await client.ask(b"append text %d" % number)
        await until(lambda: port.log.journal.first_seq > 10 and port.log.is_settled)
        first = port.log.journal.first_seq

        await client.stream.send(b"read\n")
        answers = [await client.line() for _ in range(first, 32)]
        gone = [await client.ask(b"read 1"), await client.ask(b"get %d" % (first - 1))]
        there = await client.ask(b"get %d" % first)
        await client.stream.aclose()

    assert [b"%d text %d" % (seq, seq) for seq in range(first, 31)] + [b"end 30"] == answers
    assert [b"no dropped %d" % (first - 1)] * 2 == gone
    assert b"ok text %d" % first == there
