"""Transactions of Proton's own client: messages are published and taken together, or not at all.

Source: hot standby, H4, LM3; AMQP 1.0, part 4.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from proton import Described, Message, Terminus, symbol
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container

from tests.standby.clients import connected, consume, publish
from tools.failover.manager import Manager, running

pytestmark = pytest.mark.soak("brokers")
SECONDS = 30.0


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Manager]:
    """Give a primary `a`, and a backup `b` that is up to date."""
    with running(Manager.of(tmp_path, "ab")) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.wait_role("b", "backup")
        yield manager


class MovingClient(MessagingHandler, TransactionHandler):  # type: ignore[misc]
    """A client that moves `at_once` messages from `q` to `r` in each of its transactions.

    `ends`: whether each transaction is committed.  After the last one, the client keeps a further
    transaction open until the connection ends.
    """

    def __init__(
        self, url: str, ends: list[bool], at_once: int = 2, *, early: bool = False
    ) -> None:
        super().__init__(prefetch=at_once, auto_accept=False)
        self.url, self.ends, self.at_once, self.early = url, ends, at_once, early
        self.seen: list[str] = []
        self.transaction: Any = None
        self.waiting: list[Any] = []
        self.redelivered: list[bool] = []
        self.is_full = threading.Event()
        self.may_end = threading.Event()
        self.has_begun = False

    def on_start(self, event: Any) -> None:
        self.container = event.container
        self.connection = self.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(self.connection, "r")
        self.receiver = event.container.create_receiver(self.connection, "q")
        self.until = time.monotonic() + SECONDS
        event.container.schedule(0.1, self)

    def on_sendable(self, event: Any) -> None:
        # A delivery without credit goes out later, perhaps after the end of its transaction.
        if event.link == self.sender and not self.has_begun:
            self.has_begun = True
            self._declare()

    def on_timer_task(self, event: Any) -> None:
        if self.may_end.is_set() or time.monotonic() > self.until:
            self.connection.close()
        else:
            event.container.schedule(0.1, self)

    def _declare(self) -> None:
        self.container.declare_transaction(
            self.connection, handler=self, settle_before_discharge=self.early
        )

    def on_transaction_declared(self, event: Any) -> None:
        self.transaction = event.transaction
        self._go_on()

    def on_message(self, event: Any) -> None:
        self.waiting.append((event.delivery, event.message))
        self._go_on()

    def _go_on(self) -> None:
        if self.transaction is None or len(self.waiting) < self.at_once:
            return
        for delivery, message in self.waiting[: self.at_once]:
            self.transaction.send(self.sender, Message(body=message.body, durable=True))
            self.transaction.accept(delivery)
            self.redelivered.append(message.delivery_count > 0)
        del self.waiting[: self.at_once]
        if not self.ends:
            self.is_full.set()
        elif self.ends.pop(0):
            self.transaction.commit()
        else:
            self.transaction.abort()
        self.transaction = None

    def on_transaction_committed(self, event: Any) -> None:
        self._ended("committed")

    def on_transaction_aborted(self, event: Any) -> None:
        self._ended("aborted")

    def on_transaction_commit_failed(self, event: Any) -> None:
        self._ended("failed")

    def _ended(self, what: str) -> None:
        self.seen.append(what)
        if self.ends:
            self._declare()
        else:
            self.may_end.set()

    def on_transport_error(self, event: Any) -> None:
        self.may_end.set()


def counts(manager: Manager, name: str = "a") -> dict[str, int]:
    """Return how many messages a broker has, of each queue."""
    found = manager.status(name)["queues"]
    assert isinstance(found, dict)
    return found


def test_a_commit_is_whole_at_the_primary_and_at_the_backup(pair: Manager) -> None:
    publish(pair.urls(), "1", "2", "3")
    moving = MovingClient(pair.url("a"), [True])

    Container(moving).run()

    assert ["committed"] == moving.seen
    assert {"q": 1, "r": 2} == counts(pair) == counts(pair, "b")
    assert [("1", False), ("2", False)] == consume(pair.urls(), 2, queue="r")
    assert ["3"] == [body for body, _ in consume(pair.urls(), 1)]


@pytest.mark.parametrize("early", [False, True], ids=["settled-after", "settled-before"])
def test_an_aborted_transaction_leaves_no_trace(pair: Manager, early: bool) -> None:
    """Taken messages come again, and are marked; the next transaction can have them."""
    publish(pair.urls(), "1", "2")
    moving = MovingClient(pair.url("a"), [False, True], early=early)

    Container(moving).run()

    assert ["aborted", "committed"] == moving.seen
    assert {"q": 0, "r": 2} == counts(pair)
    assert [False, False] == moving.redelivered[:2]


def test_a_transaction_that_is_open_when_the_connection_ends_leaves_no_trace(pair: Manager) -> None:
    publish(pair.urls(), "1", "2")
    moving = MovingClient(pair.url("a"), [])
    thread = threading.Thread(target=Container(moving).run, daemon=True)
    thread.start()
    assert moving.is_full.wait(SECONDS)
    # The aborted transaction holds both messages: no other client sees a change.
    assert {"q": 2, "r": 0} == counts(pair)

    moving.may_end.set()
    thread.join(SECONDS)

    assert ["1", "2"] == sorted(body for body, _ in consume(pair.urls(), 2))
    assert {"q": 0, "r": 0} == counts(pair)


@pytest.mark.parametrize("moved", [3, 90, 300])
def test_a_primary_that_dies_during_a_transaction_leaves_all_or_none_of_it(
    pair: Manager, moved: int
) -> None:
    """LM3: each message is in one of the two queues; three are moved at a time."""
    bodies = [str(at) for at in range(900)]
    publish(pair.urls(), *bodies)
    moving = MovingClient(pair.url("a"), [True] * 300, at_once=3)
    thread = threading.Thread(target=Container(moving).run, daemon=True)
    thread.start()
    assert pair.agent("a")._until(lambda: counts(pair).get("r", 0) >= moved, SECONDS)
    pair.kill("a")
    thread.join(SECONDS)

    assert "b" == pair.promote("b")
    left = counts(pair, "b")
    assert 0 < left["r"] < 900, left
    assert 0 == left["r"] % 3
    found = [
        body for queue in ("q", "r") for body, _ in consume(pair.urls(), left[queue], queue=queue)
    ]
    assert Counter(bodies) == Counter(found)
    # The committed transactions, and perhaps one whose outcome the client has not learned.
    assert left["r"] // 3 - moving.seen.count("committed") in (0, 1)


def test_an_unknown_transaction_is_refused_with_the_condition_of_amqp(pair: Manager) -> None:
    """The transaction was never declared, or the bytes are not a request."""

    class Coordinator:
        def apply(self, link: Any) -> None:
            link.target.type = Terminus.COORDINATOR

        def test(self, link: Any) -> bool:
            return True

    with connected([pair.url("a")]) as connection:
        sender = connection.create_sender(None, options=Coordinator())
        for body, condition in (
            (Described(symbol("amqp:discharge:list"), [b"nobody's", False]), "unknown-id"),
            (Described(symbol("amqp:declare:list"), [b"global"]), "not-implemented"),
            ("what is this?", "invalid-field"),
        ):
            delivery = sender.link.send(Message(body=body))
            connection.wait(lambda sent=delivery: sent.settled, timeout=SECONDS)
            assert condition in delivery.remote.condition.name
