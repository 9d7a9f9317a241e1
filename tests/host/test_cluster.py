"""The anyio driver, under asyncio and under trio: three members in one process."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from joinproto.errors import StoreInUse, StoreWriteFailed
from joinproto.host.cluster import Cluster
from joinproto.host.failures import Aborted, NotActive
from joinproto.host.nodata import NoData
from joinproto.host.outcome import Outcome
from joinproto.host.ports import Brief, Channel, Work
from joinproto.join.messages import Closing, Stop
from joinproto.join.phases import Phase
from joinproto.machine.vocabulary import Store as StoreState
from tests.host.nearby import PATIENCE, Place, places, until

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def running(*some: Place) -> AsyncIterator[list[Cluster]]:
    async with AsyncExitStack() as stack:
        for place in some:
            stack.callback(place.close)
        yield [await stack.enter_async_context(place.cluster()) for place in some]


async def all_active(clusters: list[Cluster]) -> list[Outcome]:
    return [await cluster.wait_active(timeout=PATIENCE) for cluster in clusters]


async def test_a_cluster_is_founded_closed_restored_and_joined(tmp_path: Path) -> None:
    """Three empty stores found a cluster; an orderly shutdown leaves them clean to restart it."""
    three = places(tmp_path)
    for place in three.values():
        place.wait_for = 3  # with 2, the slowest would join the restarted cluster
    async with running(*three.values()) as clusters:
        assert [Outcome.FOUNDED] * 3 == await all_active(clusters)

        await clusters[2].shutdown_cluster()

        with anyio.fail_after(PATIENCE):
            assert [Stop(is_clean=True)] * 3 == [await one.wait_ended() for one in clusters]
    async with running(three["b"], three["c"]) as others:
        async with running(three["a"]) as (a,):
            assert [Outcome.RESTORED] * 3 == await all_active([a, *others])
            assert StoreState.DIRTY is a.host.store.record.state
            assert Stop(is_clean=False) == await a.stop(timeout=PATIENCE)
        async with running(three["a"]) as (a,):
            assert Outcome.JOINED is await a.wait_active(timeout=PATIENCE)


async def test_a_member_that_hears_no_majority_closes(tmp_path: Path) -> None:
    three = places(tmp_path)
    async with running(three["a"]) as (a,):
        async with running(three["b"], three["c"]) as others:
            await all_active([a, *others])
        await until(lambda: a.phase is Phase.SUSPENDED)

        assert not a.is_active
        assert ["opened", Closing.NO_MAJORITY.value] == three["a"].told


async def test_stop_returns_although_no_other_member_can_agree(tmp_path: Path) -> None:
    """Without a majority in reach no view can leave the member out, so it simply stops."""
    three = places(tmp_path)
    async with running(three["a"]) as (a,):
        async with running(three["b"], three["c"]) as others:
            await all_active([a, *others])

        ended = await a.stop(timeout=PATIENCE)

        assert Stop(is_clean=False) == ended
        assert not a.is_active
        with pytest.raises(NotActive):
            await a.leave()


async def test_wait_active_ends_in_time_and_names_the_phase(tmp_path: Path) -> None:
    async with running(places(tmp_path)["a"]) as (a,):
        with pytest.raises(NotActive, match=r"not active after 0.1 s: initializing"):
            await a.wait_active(timeout=0.1)


async def test_the_block_raises_the_error_of_a_disk(tmp_path: Path) -> None:
    """A write that fails ends the member: the block is cancelled, and it serves no client."""
    three = places(tmp_path)

    def full(record: object) -> None:
        raise StoreWriteFailed("no space left", next="end this process")

    async def fail(a: Cluster) -> None:
        async with a:
            await all_active([a, *others])
            a.host.store.write = full  # type: ignore[method-assign]
            await a.leave()
            await anyio.sleep_forever()

    async with running(three["b"], three["c"]) as others:
        with pytest.raises(StoreWriteFailed, match="no space left"):
            await fail(three["a"].cluster())
        three["a"].close()

        assert "opened" != three["a"].told[-1]
        for other in others:
            await other.wait_active(timeout=PATIENCE)


class Worker(NoData):
    """A service that does the work in `todo`, and `heard` when a message comes."""

    todo: list[Work]
    heard: Work | None = None

    @classmethod
    def of(cls, cluster: Cluster) -> Worker:
        """Replace the service of a cluster that does not run yet."""
        former = cluster.host.service
        assert isinstance(former, NoData)
        worker = cls(former.opened, former.closed)
        worker.todo = []
        cluster.host.service = cluster.host.transfer = worker
        return worker

    def hear(self, peer: str, data: bytes) -> None:
        if self.heard is not None:
            self.todo.append(self.heard)

    def work(self) -> Iterator[Work]:
        yield from super().work()
        while self.todo:
            yield self.todo.pop(0)


async def test_a_disk_that_hangs_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    """The loop waits a moment for a small write; then other tasks run."""
    place = places(tmp_path)["a"]
    done: list[str] = []
    hangs, disk = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        done.append(f"hung: {disk.wait(PATIENCE)}")

    cluster = place.cluster()
    worker = Worker.of(cluster)
    async with cluster as a:
        for what in (Brief(lambda: done.append("brief")), lambda: done.append("long")):
            worker.todo.append(what)
            await a.call(lambda: None)
        await until(lambda: len(done) == 2)
        assert ["brief", "long"] == done

        for _ in range(2):
            done.clear()
            worker.todo.append(Brief(hang))
            a.nudge()
            await until(hangs.is_set)
            assert [] == done
            worker.todo.append(Brief(lambda: done.append("brief")))
            disk.set()
            await until(lambda: len(done) == 2)
            assert ["hung: True", "brief"] == done
            disk.clear()
            hangs.clear()
    place.close()


@pytest.mark.parametrize("is_brief", [True, False])
async def test_work_that_fails_when_a_message_comes_ends_the_member(
    tmp_path: Path, is_brief: bool
) -> None:
    """The step is begun where the message came, and not by the member's own task."""
    three = places(tmp_path)

    def fail() -> None:
        raise StoreWriteFailed("no space left", next="end this process")

    cluster = three["a"].cluster()
    worker = Worker.of(cluster)
    worker.heard = Brief(fail) if is_brief else fail

    async def run() -> None:
        async with cluster:
            await all_active([cluster, *others])
            others[0].host.transport.send("a", Channel.HOST, b"something")
            with anyio.fail_after(PATIENCE):
                await anyio.sleep_forever()

    async with running(three["b"], three["c"]) as others:
        with pytest.raises(StoreWriteFailed, match="no space left"):
            await run()
        three["a"].close()

        assert "opened" != three["a"].told[-1]


async def test_an_exception_of_the_body_is_raised(tmp_path: Path) -> None:
    place = places(tmp_path)["a"]

    with pytest.raises(ZeroDivisionError):
        async with place.cluster():
            raise ZeroDivisionError
    place.close()


async def test_members_with_different_options_abort_and_name_the_difference(tmp_path: Path) -> None:
    """I2: a restart does not help."""
    three = places(tmp_path)
    three["b"].more["options"] = "other"
    aborted: dict[str, Aborted] = {}

    async def run(place: Place) -> None:
        try:
            async with place.cluster():
                await anyio.sleep_forever()
        except Aborted as error:
            aborted[place.name] = error
        finally:
            place.close()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for place in three.values():
                tasks.start_soon(run, place)

    assert set("abc") == set(aborted)
    for error in aborted.values():
        assert "options-differ" in error.message
        assert "other/2 at b" in error.message
    assert not any(place.told for place in three.values())


async def test_no_task_outlives_the_block(tmp_path: Path) -> None:
    three = places(tmp_path)
    before = _tasks()

    async with running(*three.values()) as clusters:
        await all_active(clusters)

    assert before == _tasks()


async def test_a_call_raises_the_error_of_its_function(tmp_path: Path) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    async with running(places(tmp_path)["a"]) as (a,):
        assert "a" == await a.call(lambda: a.engine.seat.member)
        with pytest.raises(ZeroDivisionError):
            await a.call(broken)


async def test_a_store_that_a_member_uses_cannot_be_opened_again(tmp_path: Path) -> None:
    place = places(tmp_path)["a"]
    async with running(place):
        with pytest.raises(StoreInUse):
            place.host()


def _tasks() -> int:
    return len(anyio.get_running_tasks())
