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
from tests.log.engines import EngineCluster


def test_the_actions_of_a_start_come_first_even_if_the_first_step_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a heartbeat that is due is sent before the hello (torture, seed 26324).

    A member gets no input, not even the time, until its batch is performed.
    """
    order: list[str] = []

    def noted(name: str) -> Any:
        do = getattr(Member, name)

        def call(self: Member, *told: Any) -> Any:
            order.append("tick" if Tick() in told else name)
            return do(self, *told)

        return call

    cluster = EngineCluster(tmp_path)
    cluster.start("abc")
    cluster.calm(5)
    cluster.call("a", lambda member: member.engine.tell(Leave()))
    cluster.calm(5)
    for name in ("advance", "tell"):
        monkeypatch.setattr(Member, name, noted(name))

    cluster.start("a", late=10)

    cluster.close()
    assert ["advance", "tick"] == order[:2]


def test_each_message_is_encoded_in_the_version_of_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hello that was meant for no connection is not sent in version 0 (torture, seed 943329).

    Its receiver would take it for a message of an earlier version, and the sender would trust an
    outdated refusal.
    """
    spoken: list[int] = []

    def encoded(message: Any, *, speaks: int) -> bytes:
        spoken.append(speaks)
        return encode(message, speaks=speaks)

    monkeypatch.setattr(engine, "encode", encoded)
    cluster = EngineCluster(tmp_path)
    cluster.start("abc")
    cluster.calm(5)
    cluster.kill("b")
    cluster.calm(5)
    cluster.close()

    assert {LATEST} == set(spoken)


def test_a_peer_that_sends_malformed_bytes_is_dropped(tmp_path: Path) -> None:
    cluster = EngineCluster(tmp_path)
    cluster.start("abc")
    cluster.calm(5)
    assert ("a", "b") in cluster.wires

    cluster.members["a"].items.append(Came("b", Channel.HOST, b"what no log says"))
    cluster.step("a")

    assert ("a", "b") not in cluster.wires
    cluster.close()
