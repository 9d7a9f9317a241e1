"""Performing a batch: in a fixed order, and no effect after a failed effect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from attrs import Factory, define, frozen

from joinproto.join.choice_messages import Prepare
from joinproto.join.member import Member
from joinproto.join.messages import (
    Action,
    Batch,
    Closing,
    Event,
    OpenForClients,
    Refusal,
    Sent,
    Stop,
)
from joinproto.join.outbox import combined
from joinproto.join.perform import perform, performing
from joinproto.join.phases import Phase
from joinproto.join.store import Ballot, StoreRecord
from tests.join.bus import config

ALL = Batch(
    close=Closing.NEXT_VIEW,
    persist=StoreRecord(store_id="a1"),
    sends=(Sent("b", Prepare(None, Ballot(1, "a1"))), Sent("c", Prepare(None, Ballot(1, "a1")))),
    actions=(Stop(is_clean=True), Stop(is_clean=False)),
    events=(Refusal("b", "why"),),
)
ORDER = ["close", "persist", "send b", "send c", "see", "act True", "act False"]


class BrokenError(Exception):
    """A failure of a disk, a service or a connection of the host."""


@define
class Host:
    """A host that blocks.  `did`: its effects so far; `fails`: the effect that fails."""

    fails: str = ""
    did: list[str] = Factory(list)

    def do(self, effect: str) -> None:
        if effect == self.fails:
            raise BrokenError(effect)
        self.did.append(effect)

    def close(self, why: Closing) -> None:
        self.do("close")

    def persist(self, record: StoreRecord) -> None:
        self.do("persist")

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            self.do(f"send {sent.to}")

    def see(self, event: Event) -> None:
        self.do("see")

    def act(self, action: Action) -> None:
        assert isinstance(action, Stop)
        self.do(f"act {action.is_clean}")


@frozen
class SlowHost:
    """A host whose effects run elsewhere: it yields the work for which the driver waits."""

    host: Host

    def close(self, why: Closing) -> Iterator[partial[None]]:
        yield partial(self.host.close, why)

    def persist(self, record: StoreRecord) -> Iterator[partial[None]]:
        yield partial(self.host.persist, record)

    def send_all(self, sends: tuple[Sent, ...]) -> Iterator[partial[None]]:
        for sent in sends:
            yield partial(self.host.send_all, (sent,))

    def see(self, event: Event) -> Iterator[partial[None]]:
        yield partial(self.host.see, event)

    def act(self, action: Action) -> Iterator[partial[None]]:
        yield partial(self.host.act, action)


def test_a_batch_is_done_in_the_order_of_its_fields() -> None:
    """Duties 1 and 2: close first, and persist before sending."""
    host = Host()

    perform(ALL, host)

    assert ORDER == host.did


def test_a_slow_host_performs_the_effects_in_the_same_order() -> None:
    """Each effect is done before the next one is asked for."""
    slow = SlowHost(Host())

    for count, effect in enumerate(performing(ALL, slow)):
        assert ORDER[:count] == slow.host.did
        effect()

    assert ORDER == slow.host.did


def test_a_port_is_called_only_for_actions_of_the_batch() -> None:
    host = Host()

    perform(Batch(), host)
    perform(Batch(actions=(Stop(is_clean=True),)), host)

    assert ["act True"] == host.did


@pytest.mark.parametrize("fails", ORDER)
def test_no_effect_follows_a_failed_effect(fails: str) -> None:
    """Duty 4: for example, no message is sent after a failed write."""
    host = Host(fails)

    with pytest.raises(BrokenError, match=fails):
        perform(ALL, host)

    assert ORDER[: ORDER.index(fails)] == host.did


@pytest.mark.parametrize("fails", ORDER)
def test_no_effect_follows_an_effect_that_failed_in_the_driver(fails: str) -> None:
    """The driver runs the yielded work, and asks for no more after an error."""
    slow = SlowHost(Host(fails))

    def drive() -> None:
        for effect in performing(ALL, slow):
            effect()

    with pytest.raises(BrokenError, match=fails):
        drive()

    assert ORDER[: ORDER.index(fails)] == slow.host.did


def test_an_event_while_a_batch_is_performed_is_in_the_next_one() -> None:
    """A port may give the member an input; no effect of the batch is done twice."""
    member = Member.start(
        0, config("a", electors="a", wait_for=1), StoreRecord(store_id="a1"), seed="s"
    )

    @define
    class Leaving(Host):
        def send_all(self, sends: tuple[Sent, ...]) -> None:
            """Do nothing: a member alone sends no message."""

        def see(self, event: Event) -> None:
            """Do nothing: events do not matter here."""

        def act(self, action: Action) -> None:
            self.did.append(type(action).__name__)
            if isinstance(action, OpenForClients):
                member.shutdown_cluster(1)

    host = Leaving()
    member.tick(100)
    opening = member.poll()
    perform(opening, host)
    assert member.poll() is opening
    member.advance(opening)
    assert ["persist", "OpenForClients"] == host.did

    member.tick(100)
    perform(closing := member.poll(), host)
    member.advance(closing)
    assert ["persist", "OpenForClients", "close", "persist", "Stop"] == host.did
    assert Phase.STOPPED is member.phase


def test_combined_batches_keep_the_later_closing() -> None:
    """A batch without a closing does not undo an earlier closing."""
    first, second = Batch(Closing.NO_MAJORITY), Batch(Closing.NEXT_VIEW)

    assert Closing.NEXT_VIEW is combined(first, second).close
    assert Closing.NO_MAJORITY is combined(first, Batch(actions=(Stop(is_clean=True),))).close
