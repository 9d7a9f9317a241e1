"""Members of two versions of the wire in one cluster, with real sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.host import engine
from joinproto.host.cluster import Cluster
from joinproto.join.choice_messages import Promise
from joinproto.join.messages import JoinMessage
from joinproto.join.wire import decode
from tests.host.nearby import Place, places, until
from tests.host.test_cluster import all_active, running

pytestmark = pytest.mark.anyio

FORMER = (1, 2)


@pytest.mark.parametrize("versions", [(1, 3), FORMER])
async def test_a_promise_names_missed_members_only_from_version_3_on(
    versions: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of three members is gone, and the others find a view without it."""
    heard: list[Promise] = []

    def listening(data: bytes) -> JoinMessage:
        message = decode(data)
        if isinstance(message, Promise):
            heard.append(message)
        return message

    three: dict[str, Place] = places(tmp_path)
    three["b"].network = {"versions": versions}
    monkeypatch.setattr(engine, "decode", listening)
    async with running(three["a"], three["b"]) as (a, b):
        async with running(three["c"]) as (c,):
            await all_active([a, b, c])
        await until(
            lambda: a.is_active and b.is_active and _members(a) == _members(b) == {"a", "b"}
        )

    assert heard
    missed = {name for promise in heard for name in promise.misses}
    assert not missed if versions == FORMER else "c" in missed


def _members(cluster: Cluster) -> set[str]:
    view = cluster.engine.view
    return set() if view is None else {seat.member for seat in view.members}
