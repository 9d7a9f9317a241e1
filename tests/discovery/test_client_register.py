"""Two members whose views a real etcd chooses; join protocol, 3.7.

The hosts are those of the tests (`hosting.py`); members, messages and requests are shipped code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.perform import Exchange
from joinproto.apps.discovery.successors import Successors
from joinproto.discovery.consul import Consul
from joinproto.discovery.etcd3 import Etcd3
from joinproto.discovery.register import ConsulRegister, EtcdRegister, Register
from joinproto.join.messages import NoSuccessor
from joinproto.join.store import StoreRecord
from tests.discovery.asking import PatientHttp, directly, hurried
from tests.discovery.hosting import Cluster
from tools.boots.recorded import ConsulServer, serving
from tools.boots.servers import Etcd, etcds
from tools.swarms.virtual import VIRTUAL

Story = Callable[[Cluster], Awaitable[None]]
WITHIN = 60.0


async def played(register: Register, exchange: Exchange, story: Story) -> None:
    """Play a story with this register."""
    async with anyio.create_task_group() as group:
        cluster = Cluster(group, Successors(register, exchange))
        for name in "ab":
            cluster.start(name, StoreRecord(store_id=f"store-{name}"), "ab")
        await story(cluster)
        group.cancel_scope.cancel()


def played_on_etcd(etcd: Etcd, story: Story, cluster_name: str = "default") -> None:
    """Play a story with a real etcd, in real time."""
    about = Etcd3(cluster_name=cluster_name, host="127.0.0.1", port=etcd.client)

    async def whole() -> None:
        async with Http() as http:
            await played(EtcdRegister(about), hurried(http.exchange, 1.0), story)

    anyio.run(whole)


async def until(holds: Callable[[], bool], cluster: Cluster) -> None:
    """Wait until the condition holds; fail after `WITHIN` seconds."""
    with anyio.move_on_after(WITHIN):
        while not holds():  # noqa: ASYNC110 - its condition becomes true in members, unseen
            await anyio.sleep(0.02)
        return
    raise AssertionError(cluster.serving)


async def until_both_serve(cluster: Cluster) -> None:
    """Wait until both serve in one view."""
    await until(lambda: len(cluster.serving) == 2, cluster)
    assert 1 == len(set(cluster.serving.values()))


async def each_of_two_is_lost_and_comes_back(cluster: Cluster) -> None:
    """The other member serves alone meanwhile."""
    await until_both_serve(cluster)
    for name in "ba":
        before = cluster.serving[name]
        cluster.kill(name)
        await until(partial(_has_left, cluster, before), cluster)
        assert 1 == len(cluster.serving)
        cluster.start(name, StoreRecord(store_id="never taken"), "ab")
        await until_both_serve(cluster)


async def one_of_two_goes_on(cluster: Cluster) -> None:
    """Both are cut off from each other, and the register chooses one; the other closes.

    The other may serve in the old view for two heartbeats more, as 3.7 allows.
    """
    await until_both_serve(cluster)
    old = set(cluster.serving.values())
    cluster.set_cut(True)
    await until(lambda: {*cluster.serving.values()} - old != set(), cluster)
    await until(lambda: len(cluster.serving) == 1, cluster)
    await anyio.sleep(0.5)
    assert 1 == len(cluster.serving)
    cluster.set_cut(False)
    await until_both_serve(cluster)


async def no_member_goes_on_without_the_register(cluster: Cluster) -> None:
    """A member closes if for two heartbeats it has not heard that its view has no successor."""
    await until_both_serve(cluster)
    cluster.without_register |= {"a", "b"}
    await until(lambda: not cluster.serving, cluster)
    cluster.without_register.clear()
    await until_both_serve(cluster)


def _has_left(cluster: Cluster, view: str) -> bool:
    return bool({*cluster.serving.values()} - {view})


STORIES = [
    each_of_two_is_lost_and_comes_back,
    one_of_two_goes_on,
    no_member_goes_on_without_the_register,
]
EACH = pytest.mark.parametrize("story", STORIES, ids=lambda one: one.__name__)


@pytest.mark.soak("boots")
def test_two_members_play_all_stories_on_a_real_etcd(etcd: Etcd) -> None:
    """Without a register, these stories need three members."""
    for story in STORIES:
        played_on_etcd(etcd, story, story.__name__)


@EACH
def test_two_members_play_a_story_on_the_recorded_shapes_of_consul(story: Story) -> None:
    """The time is virtual."""
    exchange = directly(ConsulServer())

    anyio.run(played, ConsulRegister(Consul()), exchange, story, backend_options=VIRTUAL)


@pytest.mark.soak("boots")
@pytest.mark.needs("etcd")
def test_an_etcd_that_hangs_closes_both_members_until_it_answers_again(tmp_path: Path) -> None:
    """Without the register the members close in time, and no successor is chosen meanwhile."""
    with etcds(tmp_path) as (one,):

        async def story(cluster: Cluster) -> None:
            await until_both_serve(cluster)
            views = set(cluster.served)
            one.pause()
            await until(lambda: not cluster.serving, cluster)
            await anyio.sleep(1.0)
            assert views == set(cluster.served)
            one.go_on()
            await until_both_serve(cluster)

        played_on_etcd(one, story)


def test_a_value_that_no_member_wrote_is_not_a_successor(caplog: pytest.LogCaptureFixture) -> None:
    """It does not count as "no successor", either; the log says why."""
    with serving(state := ConsulServer()):
        register = ConsulRegister(Consul(host="127.0.0.1", port=state.port))

        async def asked() -> list[object]:
            async with PatientHttp() as http:
                successors = Successors(register, http.exchange)
                free = await successors.successor("v1")
                entry = {"Value": "Z2FyYmFnZQ==", "ModifyIndex": 1}
                state.keys["rabbitmq/default/successors/v1"] = entry
                return [free, await successors.successor("v1")]

        assert [NoSuccessor(), None] == anyio.run(asked)
    assert "no member wrote" in caplog.text


def test_a_register_that_gives_no_answer_is_reported_once_with_its_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A node never waits silently: the log has the address, and why no answer came."""

    async def asked() -> None:
        async with PatientHttp() as http:
            register = EtcdRegister(Etcd3(host="127.0.0.1", port=1))
            successors = Successors(register, http.exchange)
            for _ in range(3):
                assert await successors.successor("v") is None

    anyio.run(asked)

    (told,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "no answer: POST http://127.0.0.1:1/v3/kv/range" in told.getMessage()
