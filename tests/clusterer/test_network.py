"""Connections between nodes: over TLS, opened by both nodes at once, or to a node that is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import trustme
from attrs import Factory, define, evolve

from joinproto.apps.clusterer import network, wire
from joinproto.apps.clusterer.channel import VERSIONS
from joinproto.apps.clusterer.network import MessageReceiver, Network, Timing
from joinproto.apps.clusterer.operator import ask
from joinproto.apps.clusterer.wire import Hello
from joinproto.clusterer.messages import AskStatus
from joinproto.clusterer.reading import Release
from joinproto.errors import EnvironmentProblem, PeerError
from joinproto.net.addresses import Address
from joinproto.net.framing import framed
from joinproto.net.tls import TlsFiles
from tools.faults.ports import free_ports

SECONDS = 60.0


@define
class Node:
    """A network, and the arguments of its callbacks."""

    network: Network
    messages: list[Any] = Factory(list)
    lost: list[Any] = Factory(list)
    down: list[str] = Factory(list)
    gone: list[bool] = Factory(list)


def node(name: str, ports: dict[str, int], **more: Any) -> Node:
    found: list[Node] = []

    async def operator(asked: Any, has_gone: Callable[[], bool]) -> dict[str, Any]:
        await asyncio.sleep(asked.get("takes", 0))
        found[0].gone.append(has_gone())
        return {"asked": asked["op"]}

    def broke(error: BaseException) -> None:
        raise error

    heard = MessageReceiver(
        message=lambda sender, content: found[0].messages.append((sender, content)),
        lost=lambda to, content: found[0].lost.append((to, content)),
        down=lambda name: found[0].down.append(name),
        operator=operator,
        broke=broke,
    )
    others = {other: Address("127.0.0.1", at) for other, at in ports.items() if other != name}
    me = Hello(node=name, release=Release.SEED, run=name, listen=f"127.0.0.1:{ports[name]}")
    found.append(Node(Network(me, Release.SEED, others, Timing(), heard, **more)))
    return found[0]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110  the condition has no event
            await asyncio.sleep(0.01)


def play(
    story: Callable[[Node, Node], Awaitable[None]],
    versions: tuple[int, int] = VERSIONS,
    **more: Any,
) -> None:
    """Connect two nodes.  `versions`: of b's connections; `more`: of each network, by name."""
    ports = dict(zip("ab", free_ports(2), strict=True))

    async def connected() -> None:
        pair = [node(name, ports, **more.get(name, {})) for name in "ab"]
        for one in pair:
            speaks = versions if one is pair[1] else VERSIONS
            with mock.patch.object(network, "VERSIONS", speaks):
                await one.network.listen(Address("127.0.0.1", ports[one.network.me.node or ""]))
        try:
            await story(*pair)
        finally:
            for one in pair:
                await one.network.close()

    asyncio.run(connected())


def test_if_both_nodes_call_at_once_each_message_comes_once() -> None:
    async def story(a: Node, b: Node) -> None:
        for round_ in range(5):
            a.network.send("b", AskStatus("a", round_))
            b.network.send("a", AskStatus("b", round_))
            await until(lambda at=round_: len(a.messages) == len(b.messages) == at + 1)  # type: ignore[misc]
        assert [("a", AskStatus("a", at)) for at in range(5)] == b.messages
        assert [("b", AskStatus("b", at)) for at in range(5)] == a.messages

    play(story)


def test_a_node_of_the_next_version_talks_to_a_node_of_this_version() -> None:
    """Connections take the highest version that both speak; the hello has its own versions."""

    async def story(a: Node, b: Node) -> None:
        b.network.me = evolve(b.network.me, newest=wire.VERSIONS[1] + 1)
        a.network.send("b", AskStatus("a", 1))
        b.network.send("a", AskStatus("b", 2))
        await until(lambda: bool(a.messages and b.messages))

        assert ([("b", AskStatus("b", 2))], [("a", AskStatus("a", 1))]) == (a.messages, b.messages)

    play(story, versions=(2, 3))


def test_a_node_without_a_common_version_is_refused_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The error names both versions, and no sent message counts as received."""
    caplog.set_level("INFO")

    async def story(a: Node, b: Node) -> None:
        a.network.send("b", AskStatus("a", 1))
        await until(lambda: bool(a.lost))
        reader, writer = await asyncio.open_connection(*_place(a.network.addresses["b"]))
        writer.write(framed(b'{"protocol": "joinproto-clusterer", "version": 1}'))
        assert b"upgrade all nodes at once" in await reader.read()
        writer.close()

        assert not b.messages
        expected = ("it speaks wire versions 2 to 2, b speaks 3 to 3", "3 to 3, a speaks 2 to 2")
        assert any(one in said for one in expected for said in caplog.messages), caplog.messages

    play(story, versions=(3, 3))


def _place(address: Address) -> tuple[str, int]:
    return address.host, address.port


def test_a_message_to_an_absent_node_is_reported_as_lost() -> None:
    async def story(a: Node, b: Node) -> None:
        await b.network.close()
        a.network.send("b", AskStatus("a", 1))
        await until(lambda: bool(a.lost))

        assert ([("b", AskStatus("a", 1))], ["b"]) == (a.lost, a.down)

    play(story)


def test_an_answer_may_take_longer_than_the_time_limit_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A config begins even if the service takes minutes to stop."""
    monkeypatch.setattr(network, "OPERATOR_SECONDS", 0.2)

    async def story(a: Node, b: Node) -> None:
        at = a.network.addresses["b"]
        answer = await asyncio.to_thread(ask, at, {"op": "apply", "takes": 1}, SECONDS)
        assert ({"asked": "apply"}, [False]) == (answer, b.gone)
        with pytest.raises(EnvironmentProblem):
            await asyncio.to_thread(ask, at, {"op": "apply", "takes": 1}, 0.5)
        await until(lambda: len(b.gone) == 2)
        assert b.gone[1]

    play(story)


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, TlsFiles]:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca"))
    for name in ("a", "b", "operator", "other"):
        issued = ca.issue_cert(name)
        issued.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.pem"))
        issued.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
        (tmp_path / f"{name}.key").chmod(0o600)
    return {
        name: TlsFiles(
            certificate=tmp_path / f"{name}.pem", key=tmp_path / f"{name}.key", ca=tmp_path / "ca"
        )
        for name in ("a", "b", "operator", "other")
    }


def test_nodes_and_operators_are_identified_by_their_certificates(
    certificates: dict[str, TlsFiles], caplog: pytest.LogCaptureFixture
) -> None:
    async def story(a: Node, _: Node) -> None:
        a.network.send("b", AskStatus("a", 1))
        at = a.network.addresses["b"]
        await until(lambda: a.network.reaches("b"))

        def asked(tls: TlsFiles | None) -> Any:
            return ask(at, {"op": "status"}, SECONDS, tls=tls)

        answer = await asyncio.to_thread(asked, certificates["operator"])
        assert {"asked": "status"} == answer
        for wrong in (certificates["other"], None):
            with pytest.raises((PeerError, EnvironmentProblem)):
                await asyncio.to_thread(asked, wrong)

    play(story, a={"tls": certificates["a"]}, b={"tls": certificates["b"]})
    assert "its certificate names other" in caplog.text


def test_a_node_with_another_nodes_certificate_is_not_reached(
    certificates: dict[str, TlsFiles],
) -> None:
    async def story(a: Node, b: Node) -> None:
        a.network.send("b", AskStatus("a", 1))
        await until(lambda: bool(a.lost))

        assert [] == b.messages

    play(story, a={"tls": certificates["other"]}, b={"tls": certificates["b"]})
