"""Messages between brokers: long messages in pieces, links, and copies of several queues at once.

Source: hot standby, H4, H5.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from attrs import evolve

from joinproto.apps.standby import peers
from joinproto.apps.standby.core import Core
from joinproto.apps.standby.peers import Envelope, Peers, Session
from joinproto.host.ports import Came, Channel, Up
from joinproto.net.refused import Refused
from joinproto.net.tcp import TcpTransport
from joinproto.standby.broker import Role
from joinproto.standby.events import Promote
from joinproto.standby.messages import Join, Subscribe, View, to_tree
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.replicates import Default
from tests.standby.host import follow_b, hear_report


def joined(session: Session, envelope: Envelope) -> list[Envelope]:
    """Return the messages that the other side joins from the pieces of this one."""
    return [one for piece in envelope.pieces() if (one := session.take(piece)) is not None]


def test_a_long_message_is_sent_in_pieces_and_arrives_as_one_message() -> None:
    """A commit may have any number of messages of up to 960 KiB, too long for one frame."""
    long = Envelope("link", {"has": ["1.a.1"] * 400_000}, b"x" * 5_000_000)
    session = Session(has_greeted=True)

    assert [long] == joined(session, long)
    assert [Envelope("ask", {})] == joined(session, Envelope("ask", {}))
    assert max(map(len, long.pieces())) <= peers.PIECE_BYTES + 1


def test_pieces_of_a_broker_that_has_not_greeted_are_refused() -> None:
    with pytest.raises(Refused, match="pieces of 1048576 bytes"):
        joined(Session(), Envelope("link", {}, b"x" * 5_000_000))


def test_a_message_that_is_too_long_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side would refuse it, and this side would not learn why."""
    monkeypatch.setattr(peers, "WHOLE_BYTES_MAX", 5_000_000)

    with pytest.raises(Refused, match="expected at most 5000000"):
        next(Envelope("link", {}, b"x" * 5_000_000).pieces())


@pytest.mark.parametrize("public", ["nowhere", f"here:{'1' * 5_000}", None])
def test_a_broker_whose_clients_have_no_address_is_dropped(
    core: Core, public: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[str] = []
    monkeypatch.setattr(TcpTransport, "drop", lambda _, name, why: dropped.append(why))
    peers = core.links.peers
    peers._take(Up("a"))

    for envelope in (Envelope("hello", {"public": public}), Envelope("state", {})):
        peers._take(Came("a", Channel.HOST, next(envelope.pieces())))

    assert 1 == len(dropped)
    assert "is not an address" in dropped[0]
    assert [] == peers.sessions


def join_a(core: Core, link: str, *queues: str) -> None:
    """Join `a` on this link, and ask for queues."""
    said: list[Any] = [Join(name="a", view=View(), default=Default.ALL)]
    things = {name: core.state.replica.thing(name) for name in queues}
    said += [Subscribe(queue=name, id=one.id, has=()) for name, one in things.items() if one]
    for content in said:
        core.links.received("a", Envelope("link", {"link": link, "content": to_tree(content)}))


def make_primary(core: Core, *queues: str, messages: int = 0) -> None:
    """Make the broker primary, with queues and messages in them."""
    core.promoted(Promote(now=core.now()))
    hear_report(core, "a", Role.CONNECTING)
    for name in queues:
        core.clients.queue(name, lambda _: None)
        for _ in range(messages):
            core.clients.publish(name, b"x" * 1_000, False, lambda _: None)
    core.turn_ends()


def test_queues_are_copied_alongside_each_other(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H5: this holds even if the first queue alone could use up the whole rate of copies."""
    times = (each / 100 for each in count())
    monkeypatch.setattr(Core, "now", lambda _: next(times))
    slow = evolve(core.settings.copying, per_second=1_000.0)
    core.settings = evolve(core.settings, copying=slow)

    async def scenario() -> None:
        make_primary(core, "q", "r", messages=1_000)
        join_a(core, "1", "q", "r")
        for _ in range(20):
            core.copies.go_on()

        assert isinstance(core.state.side, PrimaryState)
        copying = core.state.side.followers["a"].copying
        copied = sorted(1_000 - len(line) for line in copying.values())
        assert 2 == len(copied)
        assert copied[1] < 3 * copied[0]

    asyncio.run(scenario())


def test_fewer_long_messages_than_short_ones_are_copied_at_once(core: Core) -> None:
    """A frame of a hundred long messages would be in memory three times."""

    async def scenario() -> None:
        make_primary(core, "q", messages=5)
        assert 100 == core.copies.fitting("q", (*core.state.replica.queues["q"].messages,))
        core.clients.publish("q", b"x" * 700_000, False, lambda _: None)
        core.clients.publish("q", b"x" * 700_000, False, lambda _: None)
        core.turn_ends()

        _, *long = core.state.replica.queues["q"].messages.split(3, back=True)[1][::-1]
        assert 2 == core.copies.fitting("q", long)

    asyncio.run(scenario())


def test_a_message_that_waits_for_the_disk_is_sent_on_its_own_link(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H4: on a new link, the backup would report one message more than this link sent."""
    sent: list[tuple[str, str]] = []

    def send(_: Peers, name: str, kind: str, facts: Any, body: bytes = b"") -> bool:
        if kind == "link":
            sent.append((facts["link"], facts["content"][0]))
        return True

    async def scenario() -> None:
        make_primary(core)
        join_a(core, "1")
        monkeypatch.setattr(Peers, "send", send)
        core.clients.queue("q", lambda _: None)
        join_a(core, "2")
        core.turn_ends()

        assert [("1", "declared"), ("2", "wired")] == sent

    asyncio.run(scenario())


def test_a_backup_refuses_a_newcomer_on_the_newcomers_link(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the newcomer waits for ever: it ignores an answer on another link."""
    sent: list[tuple[str, str]] = []

    def send(_: Peers, name: str, kind: str, facts: Any, body: bytes = b"") -> bool:
        if kind == "link":
            sent.append((facts["link"], facts["content"][0]))
        return True

    async def scenario() -> None:
        follow_b(core, View(generation=3, number=1, primary="b", members=("b", "c")))
        hear_report(core, "a", Role.CONNECTING)
        core.turn_ends()
        monkeypatch.setattr(Peers, "send", send)
        join_a(core, "7")

        assert [("7", "refuse")] == sent

    asyncio.run(scenario())
