"""Members over TCP: real sockets on loopback, with peers that fail."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trustme
from anyio.abc import TaskGroup
from attrs import evolve
from cryptography.hazmat.primitives import serialization

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.host.inbox import Inbox
from joinproto.host.ports import Came, Channel, Down, Item, Up
from joinproto.net import door, link
from joinproto.net.addresses import Address, dials
from joinproto.net.door import STRANGERS_MAX
from joinproto.net.refused import Refused
from joinproto.net.session import Identity, Session
from joinproto.net.tcp import TcpTransport
from joinproto.net.tls import TlsFiles
from tests.host.nearby import PATIENCE, network, until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.anyio


class End:
    """One transport and its events."""

    def __init__(self, transport: TcpTransport, heard: Inbox) -> None:
        self.transport = transport
        self.heard = heard

    async def next(self) -> Item:
        with anyio.fail_after(PATIENCE):
            while not (items := self.heard.take(1)):
                await self.heard.bell.wait()
            return items[0]


@asynccontextmanager
async def running(tasks: TaskGroup, *settings: Any) -> AsyncIterator[list[End]]:
    ends = []
    for one in settings:
        inbox, transport = Inbox(100), TcpTransport(one)
        await tasks.start(transport.run, inbox)
        ends.append(End(transport, inbox))
    yield ends
    tasks.cancel_scope.cancel()


def two(**more: Any) -> tuple[Any, Any]:
    ports = dict(zip("ab", free_ports(2), strict=True))
    return network("a", ports, **more), network("b", ports, **more)


async def test_messages_arrive_whole_and_in_order() -> None:
    async with anyio.create_task_group() as tasks, running(tasks, *two()) as (a, b):
        assert (Up("b"), Up("a")) == (await a.next(), await b.next())
        large = bytes(3 * 2**20)

        for data in (b"one", large, b""):
            a.transport.send("b", Channel.HOST, data)
        b.transport.send("a", Channel.MEMBER, b"back")

        assert [Came("a", Channel.HOST, data) for data in (b"one", large, b"")] == [
            await b.next() for _ in range(3)
        ]
        assert Came("b", Channel.MEMBER, b"back") == await a.next()


async def test_both_sides_of_a_connection_know_the_host_of_the_other_side() -> None:
    async with anyio.create_task_group() as tasks, running(tasks, *two()) as (a, b):
        await a.next(), await b.next()

        assert ["127.0.0.1"] * 2 == [a.transport.host_of("b"), b.transport.host_of("a")]
        assert "" == a.transport.host_of("c")


async def test_the_flush_sends_the_messages_of_one_step_in_one_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces: list[bytes] = []

    def noted(pipe: Any, data: bytes) -> None:
        pieces.append(data)
        write(pipe, data)

    async with anyio.create_task_group() as tasks, running(tasks, *two()) as (a, b):
        await a.next(), await b.next()
        kind = type(a.transport._links["b"].pipe)
        write = kind.write
        monkeypatch.setattr(kind, "write", noted)
        a.transport.gather()
        for number in range(3):
            a.transport.send("b", Channel.HOST, b"%d" % number)
        assert [] == pieces, "they wait for the flush"

        a.transport.flush()

        assert 1 == len(pieces)
        for number in range(3):
            assert Came("a", Channel.HOST, b"%d" % number) == await b.next()
        a.transport.send("b", Channel.HOST, b"at once again")
        assert Came("a", Channel.HOST, b"at once again") == await b.next()


class Time:
    """Replaces `current_time`: the test advances the time.  `asked`: the number of calls."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return self.now


async def test_a_peer_that_floods_must_wait_and_no_message_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The member takes no message for longer than `silence`; its peer does not count as silent."""
    clock = Time()
    monkeypatch.setattr(link, "current_time", clock)
    first, second = two(silence=0.3)
    async with anyio.create_task_group() as tasks, running(tasks, first, second) as (a, b):
        await a.next(), await b.next()
        texts = [b"%d " % number + bytes(1_000) for number in range(500)]
        for text in texts:
            a.transport.send("b", Channel.HOST, text)
        await until(lambda: bool(b.transport._links["a"]._late))
        for _ in range(10):
            clock.now += 0.2
            b.transport.send("a", Channel.HOST, b"alive")
            assert Came("b", Channel.HOST, b"alive") == await a.next()
        enough = clock.asked + 10
        await until(lambda: clock.asked > enough)  # both ends read the clock repeatedly

        heard = [await b.next() for _ in texts]

        assert [Came("a", Channel.HOST, text) for text in texts] == heard


async def test_messages_sent_before_a_farewell_arrive() -> None:
    """So the others know why a member has stopped."""
    async with anyio.create_task_group() as tasks, running(tasks, *two()) as (a, b):
        await a.next(), await b.next()
        a.transport.send("b", Channel.MEMBER, b"last words" * 100_000)

        tasks.start_soon(a.transport.farewell)

        assert Came("a", Channel.MEMBER, b"last words" * 100_000) == await b.next()
        assert Down("a") == await b.next()


def under_way(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Return a list of the peers for which this method of a transport runs at present."""
    peers: list[str] = []
    plain = getattr(TcpTransport, name)

    async def method(transport: TcpTransport, peer: str, *more: Any) -> None:
        peers.append(peer)
        try:
            await plain(transport, peer, *more)
        finally:
            peers.remove(peer)

    monkeypatch.setattr(TcpTransport, name, method)
    return peers


async def test_a_member_that_has_said_farewell_does_not_call_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the others would take it for a member that comes back."""
    called = under_way(monkeypatch, "_keep_calling")
    async with anyio.create_task_group() as tasks, running(tasks, *two()) as (a, b):
        await a.next(), await b.next()
        assert called == ["b"]

        await a.transport.farewell()

        assert Down("a") == await b.next()
        await until(lambda: called == [])
        assert [] == b.heard.take(1)


async def test_a_member_that_comes_back_is_connected_again() -> None:
    first, second = two()
    async with anyio.create_task_group() as tasks, running(tasks, first) as (a,):
        for _ in range(2):
            async with anyio.create_task_group() as life, running(life, second) as (b,):
                assert (Up("b"), Up("a")) == (await a.next(), await b.next())
            assert Down("b") == await a.next()


async def test_the_later_of_two_processes_of_one_member_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Otherwise the two would take over each other's connections, and no view would last."""
    first, b_network = two()
    later = evolve(first, listen=Address("127.0.0.1", *free_ports(1)))
    async with anyio.create_task_group() as tasks, running(tasks, b_network) as (b,):
        async with anyio.create_task_group() as life, running(life, first) as (a,):
            assert (Up("b"), Up("a")) == (await a.next(), await b.next())
            tasks.start_soon(keep_running, later)
            await until(lambda: "b refuses us" in caplog.text)
            assert "runs as 'a' already" in caplog.text

            b.transport.send("a", Channel.HOST, b"still here")
            assert Came("b", Channel.HOST, b"still here") == await a.next()
        # The first process is gone, so a restarted one is let in at once.
        assert Down("a") == await b.next()
        assert Up("a") == await b.next()
        tasks.cancel_scope.cancel()


async def keep_running(one: Any) -> None:
    async with anyio.create_task_group() as tasks, running(tasks, one):
        await anyio.sleep_forever()


async def test_a_process_that_calls_again_replaces_its_own_connection() -> None:
    """The process knows before its peer does that the former connection is dead."""
    _, second = two()
    async with anyio.create_task_group() as tasks, running(tasks, second) as (b,):
        streams = []
        for _ in range(2):
            streams.append(await anyio.connect_tcp("127.0.0.1", second.listen.port))
            session = Session(Identity(member="a", cluster_name="cluster", run="one"), "b")
            while session.peer is None:
                await streams[-1].send(session.take_out())
                list(session.feed(await streams[-1].receive()))
        assert [Up("a"), Down("a"), Up("a")] == [await b.next() for _ in range(3)]
        for stream in streams:
            await anyio.aclose_forcefully(stream)
        tasks.cancel_scope.cancel()


async def test_no_message_of_a_former_connection_comes_after_a_newer_one() -> None:
    """`MachineWorld.connect` relies on this, also for messages that find no room at b."""
    _, second = two()
    async with anyio.create_task_group() as tasks, running(tasks, second) as (b,):
        session, former = await greeted(second.listen.port)
        for number in range(150):  # b takes 100 messages without being asked
            await former.send(session.seal(b"h%d" % number))
        later, newer = await greeted(second.listen.port)
        with suppress(anyio.BrokenResourceError):
            await former.send(session.seal(b"hlate"))
        await newer.send(later.seal(b"hnew"))

        new = Came("a", Channel.HOST, b"new")
        heard = [await b.next()]
        while heard[-1] != new:
            heard.append(await b.next())

        assert [Down("a"), Up("a"), new] == heard[-3:]
        came = [Came("a", Channel.HOST, b"%d" % number) for number in range(len(heard) - 4)]
        assert [Up("a"), *came] == heard[:-3]
        for stream in (former, newer):
            await anyio.aclose_forcefully(stream)
        tasks.cancel_scope.cancel()


async def test_a_peer_that_falls_silent_is_given_up() -> None:
    """As with a half-open connection or a stopped process, neither data nor an end arrives."""
    first, second = two(silence=0.3)
    port = second.listen.port
    async with anyio.create_task_group() as tasks:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        calls: list[int] = []

        async def greet_and_fall_silent(stream: anyio.abc.ByteStream) -> None:
            calls.append(1)
            session = Session(Identity(member="b", cluster_name="cluster"), None)
            async with stream:
                while session.peer is None:
                    list(session.feed(await stream.receive()))
                    await stream.send(session.take_out())
                await anyio.sleep_forever()

        tasks.start_soon(listener.serve, greet_and_fall_silent)
        async with running(tasks, first) as (a,):
            assert Up("b") == await a.next()
            assert Down("b") == await a.next()
            assert Up("b") == await a.next()  # it calls again
            tasks.cancel_scope.cancel()
    await listener.aclose()
    assert len(calls) >= 2


async def test_a_peer_that_reads_too_slowly_is_given_up() -> None:
    first, second = two(queue_bytes=2**20)
    async with anyio.create_task_group() as tasks, running(tasks, first, second) as (a, b):
        await a.next(), await b.next()

        # No member takes from b's inbox, so b no longer reads, and a's messages pile up.
        for _ in range(200):
            a.transport.send("b", Channel.HOST, bytes(2**20))
            await anyio.lowlevel.checkpoint()

        assert Down("b") == await a.next()


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"cluster_name": "another"}, "it is of cluster 'another', b is of 'cluster'"),
        ({"secret": b"another, of 16 bytes or more"}, "does not know the secret"),
        ({"versions": (9, 9)}, "it speaks wire versions 9 to 9, b speaks 1 to 4"),
    ],
)
async def test_a_stranger_is_refused_and_the_reason_is_logged(
    others: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = two(secret=b"one, of 16 bytes or more")
    ports = {"a": first.listen.port, "b": second.listen.port}
    stranger = network("a", ports, **({"secret": b"one, of 16 bytes or more"} | others))
    async with anyio.create_task_group() as tasks, running(tasks, stranger, second) as (_, b):
        await until(lambda: b.transport.refusals.count >= 2)

        assert [] == b.transport.peers
    assert why in caplog.text


async def test_silent_strangers_do_not_keep_members_out() -> None:
    """There are more silent connections than places, and a member still gets in."""
    first, second = two()
    async with anyio.create_task_group() as tasks, running(tasks, second) as (b,):
        crowd = [
            await anyio.connect_tcp("127.0.0.1", second.listen.port)
            for _ in range(2 * STRANGERS_MAX)
        ]
        async with anyio.create_task_group() as life, running(life, first) as (a,):
            assert (Up("b"), Up("a")) == (await a.next(), await b.next())
        for stream in crowd:
            await anyio.aclose_forcefully(stream)


async def greeted(port: int) -> tuple[Session, anyio.abc.ByteStream]:
    """Return a connection as member `a` once it is let in; close connections that are refused."""
    while True:
        stream = await anyio.connect_tcp("127.0.0.1", port)
        session = Session(Identity(member="a", cluster_name="cluster"), "b")
        try:
            await stream.send(session.take_out())
            while session.peer is None:
                list(session.feed(await stream.receive()))
                if out := session.take_out():
                    await stream.send(out)
        except (Refused, anyio.EndOfStream, anyio.BrokenResourceError):
            await anyio.aclose_forcefully(stream)
        else:
            return session, stream


async def test_a_proved_peer_that_speaks_garbage_is_dropped_and_may_come_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once: its name is refused for a moment."""
    clock = Time()
    monkeypatch.setattr(door, "current_time", clock)
    _, second = two()

    async def wait_until_refused() -> None:
        await until(lambda: "'a' sent a message that no member sends" in caplog.text)
        clock.now += door.PUNISHED_SECONDS

    async with anyio.create_task_group() as tasks, running(tasks, second) as (b,):
        tasks.start_soon(wait_until_refused)
        for _ in range(2):
            with anyio.fail_after(PATIENCE):
                session, stream = await greeted(second.listen.port)
            assert Up("a") == await b.next()

            await stream.send(session.seal(b"no such channel"))

            assert Down("a") == await b.next()
            await anyio.aclose_forcefully(stream)
    assert "a frame for channel b'n'" in caplog.text
    assert "'a' sent a message that no member sends, a moment ago" in caplog.text


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TlsFiles]:
    """Return one certificate for each member, and one of another CA."""
    top = tmp_path_factory.mktemp("tls")
    ours, others = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(str(top / "ca.pem"))
    made = {}
    for name, ca in (("a", ours), ("b", ours), ("c", ours), ("stranger", others)):
        issued = ca.issue_cert(name)
        issued.cert_chain_pems[0].write_to_path(str(top / f"{name}.pem"))
        issued.private_key_pem.write_to_path(str(top / f"{name}.key"))
        made[name] = TlsFiles(
            certificate=top / f"{name}.pem", key=top / f"{name}.key", ca=top / "ca.pem"
        )
    return made


async def test_members_with_certificates_exchange_messages(
    certificates: dict[str, TlsFiles],
) -> None:
    ports = dict(zip("ab", free_ports(2), strict=True))
    both = [network(name, ports, tls=certificates[name]) for name in "ab"]
    async with anyio.create_task_group() as tasks, running(tasks, *both) as (a, b):
        assert (Up("b"), Up("a")) == (await a.next(), await b.next())

        a.transport.send("b", Channel.HOST, bytes(2**20))

        assert Came("a", Channel.HOST, bytes(2**20)) == await b.next()


@pytest.mark.parametrize(
    ("shows", "why"),
    [
        ("c", "it says that it is 'a', but its certificate names c"),
        ("stranger", "no TLS: we refuse its certificate: "),
    ],
)
async def test_a_certificate_of_another_member_or_of_another_ca_is_refused(
    certificates: dict[str, TlsFiles], caplog: pytest.LogCaptureFixture, shows: str, why: str
) -> None:
    """The name in the certificate counts, not the name that the caller gives."""
    ports = dict(zip("ab", free_ports(2), strict=True))
    thief = network("a", ports, tls=certificates[shows])
    honest = network("b", ports, tls=certificates["b"])
    async with anyio.create_task_group() as tasks, running(tasks, thief, honest) as (_, b):
        await until(lambda: b.transport.refusals.count >= 1)

        assert [] == b.transport.peers
    assert why in caplog.text


async def test_the_side_whose_certificate_is_refused_logs_it(
    certificates: dict[str, TlsFiles], caplog: pytest.LogCaptureFixture
) -> None:
    ports = dict(zip("ab", free_ports(2), strict=True))
    thief = network("a", ports, tls=certificates["stranger"])
    honest = network("b", ports, tls=certificates["b"])
    async with anyio.create_task_group() as tasks, running(tasks, thief, honest) as (a, _):
        await until(lambda: a.transport.refusals.count >= 1)

    called = [line for line in caplog.messages if f"b at 127.0.0.1:{ports['b']}" in line]
    assert called
    assert "after the TLS handshake; if it refuses our certificate, its log says why" in called[0]


async def test_a_certificate_is_renewed_without_a_restart(
    certificates: dict[str, TlsFiles], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next connection shows the new certificate; files that do not fit have no effect."""
    caplog.set_level("INFO")
    ports = dict(zip("ab", free_ports(2), strict=True))
    renewed = evolve(certificates["b"], certificate=tmp_path / "b.pem", key=tmp_path / "b.key")
    for name in ("b.pem", "b.key"):
        kind = "certificate" if name.endswith("pem") else "key"
        (tmp_path / name).write_bytes(getattr(certificates["stranger"], kind).read_bytes())
    first, second = network("a", ports, tls=certificates["a"]), network("b", ports, tls=renewed)
    async with anyio.create_task_group() as tasks, running(tasks, first, second) as (a, b):
        await until(lambda: a.transport.refusals.count >= 1)
        assert [] == b.transport.peers

        renewed.certificate.write_bytes(certificates["b"].certificate.read_bytes())
        renewed.key.write_bytes(certificates["b"].key.read_bytes())

        assert (Up("b"), Up("a")) == (await a.next(), await b.next())
        renewed.key.write_text("half of a k")
        b.transport.drop("a", "so that it calls again")
        assert [Down("b"), Up("b")] == [await a.next(), await a.next()]
        tasks.cancel_scope.cancel()
    assert "the certificate was renewed" in caplog.text
    assert "the certificate was not renewed: security.certificate" in caplog.text


async def test_a_stranger_s_name_cannot_look_like_a_line_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Such names have line ends, terminal colours, or letters that reverse the writing."""
    _, second = two()
    names = ["x\nlost b: all is well", "\x1b[31mred", "\u202eeslaf"]
    async with anyio.create_task_group() as tasks, running(tasks, second) as (b,):
        for number, name in enumerate(names, 1):
            stream = await anyio.connect_tcp("127.0.0.1", second.listen.port)
            session = Session(Identity(member=name, cluster_name="cluster"), "b")
            await _greet_as_far_as_it_goes(session, stream)
            await until(lambda least=number: b.transport.refusals.count >= least)  # type: ignore[misc]
            await anyio.aclose_forcefully(stream)

    assert all(one.isprintable() for one in caplog.messages)


async def _greet_as_far_as_it_goes(session: Session, stream: anyio.abc.ByteStream) -> None:
    with suppress(Refused, anyio.EndOfStream, anyio.BrokenResourceError):
        with anyio.fail_after(PATIENCE):
            while True:
                await stream.send(session.take_out() or b"\0\0\0\1x")
                list(session.feed(await stream.receive()))


async def test_plain_text_on_a_tls_port_is_refused(certificates: dict[str, TlsFiles]) -> None:
    ports = dict(zip("ab", free_ports(2), strict=True))
    honest = network("b", ports, tls=certificates["b"])
    async with anyio.create_task_group() as tasks, running(tasks, honest) as (b,):
        stream = await anyio.connect_tcp("127.0.0.1", ports["b"])
        session = Session(Identity(member="a", cluster_name="cluster"), "b")
        await stream.send(session.take_out())
        await until(lambda: b.transport.refusals.count >= 1)
        await anyio.aclose_forcefully(stream)

        assert [] == b.transport.peers


def test_two_addresses_clash_if_both_cannot_be_listened_on() -> None:
    here = Address("127.0.0.1", 7101)

    assert here.clashes(Address("localhost", 7101))
    assert here.clashes(Address("0.0.0.0", 7101))
    assert not here.clashes(Address("127.0.0.1", 7102))
    assert not here.clashes(Address("127.0.0.2", 7101))
    assert not Address("127.0.0.1", 0).clashes(Address("127.0.0.1", 0))
    assert here == Address.parse_local("7101")


def test_without_secret_and_tls_only_a_loopback_address_is_permitted() -> None:
    with pytest.raises(UsageProblem, match="anybody could speak for a member"):
        network("a", {"a": 1}, listen=Address("0.0.0.0", 1))

    fine = network("a", {"a": 1}, listen=Address("0.0.0.0", 1), secret=b"x" * 16)
    assert not fine.listen.is_loopback


async def test_an_address_in_use_is_reported() -> None:
    (port,) = free_ports(1)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)

    with pytest.raises(EnvironmentProblem, match="cannot listen on"):
        await TcpTransport(network("a", {"a": port})).run(Inbox(1))

    await listener.aclose()


def test_tls_files_that_do_not_fit_are_reported(
    certificates: dict[str, TlsFiles], tmp_path: Path
) -> None:
    wrong = TlsFiles(
        certificate=certificates["a"].certificate, key=certificates["b"].key, ca=tmp_path
    )

    with pytest.raises(UsageProblem, match=r"security.certificate .*a.pem with key .*b.key: "):
        wrong.context(accepts=True)
    with pytest.raises(UsageProblem, match=r"none.pem: No such file"):
        evolve(certificates["a"], ca=tmp_path / "none.pem").context(accepts=True)
    assert ssl.CERT_REQUIRED is certificates["a"].context(accepts=True).verify_mode


def test_an_encrypted_key_is_refused_with_the_reason(
    certificates: dict[str, TlsFiles], tmp_path: Path
) -> None:
    """The password is not asked for on the terminal: a member runs without an operator."""
    plain = serialization.load_pem_private_key(certificates["a"].key.read_bytes(), None)
    key = tmp_path / "encrypted.key"
    key.write_bytes(
        plain.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )

    with pytest.raises(UsageProblem, match="it is encrypted"):
        evolve(certificates["a"], key=key).context(accepts=True)


def test_exactly_one_of_two_members_calls() -> None:
    for one in "abde":
        for other in "abde":
            if one != other:
                calls = dials(one, other, "bc"), dials(other, one, "bc")
                assert {True, False} == set(calls)
    assert dials("d", "a", "abc"), "a newcomer calls an elector, which need not know it"


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":1", "host:x", "::1:80", "h:70000", f"h:{'1' * 5_000}"]
)
def test_a_malformed_address_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="is not an address"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [("127.0.0.1:1", True), ("[::1]:1", True), ("localhost:1", True), ("example:1", False)],
)
def test_addresses_are_read_and_written(text: str, is_loopback: bool) -> None:
    assert (text, is_loopback) == (str(Address.parse(text)), Address.parse(text).is_loopback)


def taken(entry: socket.socket) -> int:
    """Return how many calls have come since the last check."""
    calls = 0
    with suppress(BlockingIOError):
        while True:
            entry.accept()[0].close()
            calls += 1
    return calls


async def test_a_forgotten_member_is_no_longer_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A member that is found again is called by one task only."""
    called = under_way(monkeypatch, "_call_found")
    guest = evolve(two()[0], member="y", addresses={}, backoff=(0.01, 0.01))
    with socket.create_server(("127.0.0.1", 0)) as entry:
        entry.setblocking(False)
        address = Address("127.0.0.1", entry.getsockname()[1])
        async with anyio.create_task_group() as tasks, running(tasks, guest) as (a,):
            for _ in range(5):
                a.transport.call("z", address)
                a.transport.forget("z")
            assert 0 == taken(entry)
            a.transport.call("z", address)
            await until(lambda: called == ["z"] and taken(entry) > 0)
            await until(lambda: taken(entry) > 0)  # a refused transport calls again

            a.transport.forget("z")
            await until(lambda: taken(entry) >= 0 and called == [])
