"""Items that wait for a member, and the wake-up of a waiting task: under asyncio and under trio."""

from __future__ import annotations

import anyio
import pytest

from joinproto.host.inbox import Inbox, Signal
from joinproto.host.ports import Down, Item, Up
from tests.host.nearby import PATIENCE

pytestmark = pytest.mark.anyio

ITEMS: list[Item] = [Up("a"), Down("a"), Up("b"), Down("b")]


async def wakes_a_task(bell: Signal) -> bool:
    """Return whether a task that waits for the bell continues now."""
    rung = False

    async def wait() -> None:
        nonlocal rung
        await bell.wait()
        rung = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return rung


async def test_two_rings_before_a_wait_count_as_one() -> None:
    bell = Signal()
    bell.ring()
    bell.ring()

    with anyio.fail_after(PATIENCE):
        await bell.wait()
    assert not await wakes_a_task(bell)


async def test_a_task_that_waits_is_woken_and_may_be_cancelled() -> None:
    bell = Signal()
    assert not await wakes_a_task(bell)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bell.wait)
        await anyio.lowlevel.checkpoint()
        bell.ring()


async def test_a_sender_waits_until_a_full_inbox_has_room() -> None:
    inbox = Inbox(2)
    await inbox.send(ITEMS[0])
    await inbox.send(ITEMS[1])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inbox.send, ITEMS[2])
        await anyio.wait_all_tasks_blocked()
        assert ITEMS[:2] == inbox.take(10)
        with anyio.fail_after(PATIENCE):
            while not (rest := inbox.take(10)):
                await anyio.lowlevel.checkpoint()
    assert ITEMS[2:3] == rest


async def test_items_left_in_the_inbox_ring_the_bell_again() -> None:
    inbox = Inbox(10)
    for item in ITEMS:
        await inbox.send(item)
    await inbox.bell.wait()

    assert ITEMS[:3] == inbox.take(3)
    with anyio.fail_after(PATIENCE):
        await inbox.bell.wait()
    assert ITEMS[3:] == inbox.take(3)


async def test_items_that_come_together_are_taken_up_to_the_limit() -> None:
    taken: list[Item] = []
    inbox = Inbox(3)

    def turn() -> bool:
        taken.extend(inbox.take(10))
        return True

    assert 3 == inbox.come(ITEMS)
    await inbox.bell.wait()
    inbox.turn = turn
    assert 0 == inbox.come(ITEMS[3:])
    assert ITEMS[:3] == taken
    assert 1 == inbox.come(ITEMS[3:])
    assert ITEMS == taken
    assert not await wakes_a_task(inbox.bell), "the items were taken at once, but a task is woken"


async def test_no_task_waits_for_room_in_a_closed_inbox() -> None:
    inbox = Inbox(1)
    await inbox.send(ITEMS[0])
    async with anyio.create_task_group() as tasks:

        async def refused() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await inbox.send(ITEMS[1])

        tasks.start_soon(refused)
        await anyio.lowlevel.checkpoint()
        inbox.close()
    assert 4 == inbox.come(ITEMS)
    assert [] == inbox.take(10)
