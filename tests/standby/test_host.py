"""One broker in this process, without sockets: its input, its clients, and failures of its disk.

Source: hot standby, H3, H4, H8.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.apps.standby import links
from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.form import PREVIOUS
from joinproto.apps.standby.peers import Envelope, Peers
from joinproto.apps.standby.performing import ThreadWorker
from joinproto.apps.standby.process import run_broker
from joinproto.apps.standby.queues import Held, LiveQueue
from joinproto.apps.standby.settings import read_settings
from joinproto.codec.json_form import encoded
from joinproto.errors import EnvironmentProblem, StoreWriteFailed
from joinproto.net.addresses import Address
from joinproto.standby.broker import Mark, Role
from joinproto.standby.events import Promote
from joinproto.standby.messages import Join, View, to_tree
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.replicates import Default
from tests.standby.host import follow_b, hear_report
from tools.failover.manager import Manager


def followers_after_join(core: Core, session: str, name: str) -> set[str]:
    """Receive a join in the name of `name` over a session; return the primary's followers."""
    join = to_tree(Join(name=name, view=View(), default=Default.ALL))
    core.links.received(session, Envelope("link", {"link": "1", "content": join}))
    assert isinstance(core.state.side, PrimaryState)
    return {*core.state.side.followers}


def test_a_join_counts_only_in_the_name_of_the_session(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H4: otherwise the messages of one broker would count as another's."""
    ended: list[str] = []
    monkeypatch.setattr(Peers, "end", lambda _, name: ended.append(name))

    async def scenario() -> None:
        core.promoted(Promote(now=core.now()))
        for name in "ab":
            hear_report(core, name, Role.CONNECTING)

        assert set() == followers_after_join(core, "a", "b")
        assert ["a"] == ended
        assert {"a"} == followers_after_join(core, "a", "a")

    asyncio.run(scenario())


def test_a_view_with_impossible_numbers_ends_the_session(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the view would be stored, and the store be refused at the next start."""
    ended: list[str] = []
    monkeypatch.setattr(Peers, "end", lambda _, name: ended.append(name))

    async def scenario() -> None:
        hear_report(core, "b", Role.PRIMARY, view={**encoded(View()), "generation": -1})

        assert ["b"] == ended

    asyncio.run(scenario())


def test_a_broker_that_has_only_started_yields_to_one_that_lost_its_primary(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H3, H8: the other broker had all messages, and this broker's store may be older."""
    monkeypatch.setattr(links, "ASK_SECONDS", 0.0)

    async def scenario() -> None:
        hear_report(core, "b", Role.CONNECTING, standing="backup")
        refused = await core.promote()
        hear_report(core, "b", Role.CONNECTING)
        accepted = await core.promote()

        assert ("refused", "H3") == (refused["verdict"], refused["rule"])
        assert "accepted" == accepted["verdict"]

    asyncio.run(scenario())


def test_an_orderly_stop_does_not_mark_a_half_copied_store_clean(core: Core) -> None:
    """H3, H10: the broker's directory was emptied, and its copy is incomplete."""

    async def scenario() -> None:
        follow_b(core, View(generation=3, number=1, primary="b", members=("b", "c")))
        assert Role.CATCHUP is core.role

        await core.stop()

        assert Mark.DIRTY is core.kept.mark

    asyncio.run(scenario())


def test_a_view_that_cannot_be_stored_ends_the_broker(core: Core) -> None:
    """The built-in manager has written the view, but the broker's own disk fails."""

    async def scenario() -> None:
        core.promoted(Promote(now=core.now()))
        folder = core.settings.data / "standby"
        (folder / PREVIOUS).unlink(missing_ok=True)
        (folder / PREVIOUS).mkdir()

        core.view_written(evolve(core.state.view, number=2))

        assert isinstance(core.failure, StoreWriteFailed)
        assert core.ended.is_set()

    asyncio.run(scenario())


def no_port(*_: Any, **__: Any) -> asyncio.Protocol:
    """Raise an error, because no client comes."""
    raise NotImplementedError


@pytest.mark.parametrize("port", ["clients", "peers", "chain"])
def test_a_start_that_fails_leaves_a_clean_store_clean(tmp_path: Path, port: str) -> None:
    """H10: the broker has served no client, so its mark must not ask for an operator."""
    settings = read_settings(Manager.of(tmp_path, "abc", built_in=True).files["c"])
    view = View(generation=3, number=1, primary="c", members=("b", "c"))
    with open_disk(settings.data, "c", brokers=("a", "b", "c")) as disk:
        disk.write(evolve(disk.kept, cluster="c" * 32, view=view))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        # All other ports are chosen by the system, so that no other process has them.
        at = defaultdict(lambda: Address("127.0.0.1", 0))
        at[port] = Address("127.0.0.1", taken.getsockname()[1])
        settings = evolve(
            settings,
            clients=at["clients"],
            brokers={**settings.brokers, "c": at["peers"]},
            chain={**settings.chain, "c": at["chain"]},
        )
        with pytest.raises(EnvironmentProblem, match=str(at[port].port)):
            run_broker(settings, no_port)

    with open_disk(settings.data, "c") as disk:
        assert Mark.CLEAN is disk.kept.mark


def test_an_event_log_that_cannot_be_created_is_reported_as_the_machines_problem(
    tmp_path: Path,
) -> None:
    settings = read_settings(Manager.of(tmp_path, "abc").files["c"])
    (tmp_path / "file").touch()

    with pytest.raises(EnvironmentProblem, match=r"the event log .*: Not a directory"):
        run_broker(evolve(settings, events=tmp_path / "file" / "events"), no_port)


def test_an_unsent_message_stays_in_its_queue() -> None:
    """A consumer that fails must not cost a message."""

    class FailingConsumer:
        credit = 1

        def send(self, held: Held) -> None:
            raise RuntimeError

    queue = LiveQueue("q")
    queue.offer(Held("1", 1, b""))
    with pytest.raises(RuntimeError):
        queue.add(FailingConsumer())

    assert 1 == len(queue)


def test_blocking_work_does_not_hold_up_the_event_loop() -> None:
    """The work waits until the loop has done something; a blocked loop would take ten seconds."""
    gone_on, found = threading.Event(), list[bool]()

    async def scenario() -> None:
        loop, helper = asyncio.get_running_loop(), ThreadWorker()
        done = loop.create_future()
        loop.call_soon(gone_on.set)
        helper.do(lambda: found.append(gone_on.wait(10)), done.set_result)
        assert await done is None
        helper.close()

    asyncio.run(scenario())

    assert [True] == found
