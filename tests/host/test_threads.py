"""The driver for plain threads."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from joinproto.errors import MisuseError, StoreWriteFailed
from joinproto.host.outcome import Outcome
from joinproto.host.threads import ThreadCluster
from joinproto.join.choice_messages import Prepare
from joinproto.join.messages import Stop
from joinproto.join.store import Ballot
from tests.host.nearby import PATIENCE, Place, places


def test_three_members_run_in_threads_and_leave_no_thread_behind(tmp_path: Path) -> None:
    three = places(tmp_path)
    before = set(threading.enumerate())

    with ExitStack() as stack:
        clusters = [stack.enter_context(_cluster(place, stack)) for place in three.values()]
        outcomes = [one.wait_active(timeout=PATIENCE) for one in clusters]
        clusters[1].shutdown_cluster()
        ended = [one.wait_ended() for one in clusters]

    assert [Outcome.FOUNDED] * 3 == outcomes
    assert [Stop(is_clean=True)] * 3 == ended
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)  # it was asked to end, and may not have run since
    assert set() == set(threading.enumerate()) - before


def test_the_next_call_and_the_block_raise_a_failure(tmp_path: Path) -> None:
    place = places(tmp_path)["a"]

    def full(record: object) -> None:
        raise StoreWriteFailed("no space left", next="end this process")

    host = place.host()
    host.store.write = full  # type: ignore[method-assign]
    with ExitStack() as stack:
        stack.callback(place.close)
        stack.enter_context(pytest.raises(StoreWriteFailed))
        cluster = stack.enter_context(ThreadCluster(place.config(), host))

        _promise(cluster)

        with pytest.raises(StoreWriteFailed):
            cluster.wait_active(timeout=PATIENCE)


def test_a_call_outside_of_the_block_is_refused(tmp_path: Path) -> None:
    place = places(tmp_path)["a"]
    cluster = ThreadCluster(place.config(), place.host())

    with pytest.raises(MisuseError, match="does not run"):
        cluster.wait_active()
    place.close()


def _cluster(place: Place, stack: ExitStack) -> ThreadCluster:
    stack.callback(place.close)
    return ThreadCluster(place.config(), place.host())


def _promise(cluster: ThreadCluster) -> None:
    """Make the member write: a peer asks for its promise."""
    asked = Prepare(None, Ballot(1, "b"))
    member = cluster.inner.engine.member
    with suppress(StoreWriteFailed):
        cluster.call(lambda: member.receive(cluster.inner.engine.now(), "b", asked))
