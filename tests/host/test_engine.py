"""The engine: the order in which a member gets inputs and its actions are performed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joinproto.host import engine
from joinproto.host.ports import Came, Channel
from joinproto.join.inputs import Leave, Tick
from joinproto.join.member import Member
from joinproto.join.wire import LATEST, encode
from tests.log.engines import Town


def test_the_actions_of_a_start_come_first_even_if_the_first_step_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torture, seed 26324: a busy machine, so the heartbeat was due; it went out before the hello.

    A member gets no input, not even the time, until its batch is performed.
    """
    order: list[str] = []

    def noted(name: str) -> Any:
        do = getattr(Member, name)

        def call(self: Member, *told: Any) -> Any:
            order.append("tick" if Tick() in told else name)
            return do(self, *told)

        return call

    town = Town(tmp_path)
    town.start("abc")
    town.calm(5)
    town.call("a", lambda member: member.engine.tell(Leave()))
    town.calm(5)
    for name in ("advance", "tell"):
        monkeypatch.setattr(Member, name, noted(name))

    town.start("a", late=10)

    town.close()
    assert ["advance", "tick"] == order[:2]


def test_no_message_is_sent_on_a_connection_that_the_member_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torture, seed 943329: a hello from before the connection had a version that no member speaks.

    The receiver took it for a message of an earlier version, and its sender would have trusted an
    outdated refusal.
    """
    spoken: list[int] = []

    def encoded(message: Any, *, speaks: int) -> bytes:
        spoken.append(speaks)
        return encode(message, speaks=speaks)

    monkeypatch.setattr(engine, "encode", encoded)
    town = Town(tmp_path)
    town.start("abc")
    town.calm(5)
    town.kill("b")
    town.calm(5)
    town.close()

    assert {LATEST} == set(spoken)


def test_a_peer_that_sends_malformed_bytes_is_dropped(tmp_path: Path) -> None:
    town = Town(tmp_path)
    town.start("abc")
    town.calm(5)
    assert ("a", "b") in town.wires

    town.members["a"].items.append(Came("b", Channel.HOST, b"what no log says"))
    town.step("a")

    assert ("a", "b") not in town.wires
    town.close()
