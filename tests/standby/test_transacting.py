"""The contents of a connection's transactions, and the reasons for their failure.

Source: hot standby, LM3; AMQP 1.0, part 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from attrs import define, field
from proton import Described, Message, symbol, ulong

from joinproto.apps.standby.queues import Held
from joinproto.apps.standby.transacting import (
    EACH_BYTES,
    ROLLBACK,
    TRANSACTIONAL,
    Reply,
    Transactions,
    transaction_of,
)


@define
class Commits:
    """Takes committed messages."""

    bodies: list[bytes] = field(factory=list)

    def commit_whole(
        self,
        puts: list[tuple[str, bytes, bool]],
        takes: list[tuple[str, Held]],
        done: Callable[[str], None],
    ) -> None:
        self.bodies += [body for _, body, _ in puts]
        done("")


@pytest.fixture
def commits() -> Commits:
    return Commits()


@pytest.fixture
def transactions(commits: Commits) -> Transactions:
    return Transactions(commits.commit_whole)


def asked(transactions: Transactions, name: str, *values: Any) -> Reply:
    """Return the answer to a request."""
    found: list[Reply] = []
    body = Message(body=Described(symbol(f"amqp:{name}:list"), [*values])).encode()
    transactions.ask(None, body, found.append)
    return found[0]


def test_a_transactions_size_is_limited_even_for_messages_without_content(
    transactions: Transactions, commits: Commits
) -> None:
    """Messages without content cost no bytes, but a commit of a million of them delays all
    others.
    """
    name = asked(transactions, "declare").id
    for _ in range((64 << 20) // EACH_BYTES + 1):
        assert transactions.put(name, "q", b"", True)

    assert ROLLBACK == asked(transactions, "discharge", name, False).condition
    assert [] == commits.bodies
    assert 0 == transactions.held_bytes


def test_a_message_that_is_not_accepted_fails_the_whole_transaction(
    transactions: Transactions, commits: Commits
) -> None:
    """LM3: a client that sent the message settled learns of the failure only in this way."""
    name = asked(transactions, "declare").id
    assert transactions.put(name, "q", b"1", True)
    assert transactions.put(name, "q", b"2", True, "it is too long")

    found = asked(transactions, "discharge", name, False)

    assert (ROLLBACK, "it is too long") == (found.condition, found.why)
    assert [] == commits.bodies


@define
class Delivery:
    """A client's statement about one delivery."""

    data: Any
    remote_state: int = TRANSACTIONAL

    @property
    def remote(self) -> Delivery:
        return self


@pytest.mark.parametrize("outcome", [[], 3.5, None, "nonsense", symbol("no:outcome")])
def test_an_unknown_value_is_not_an_outcome(outcome: object) -> None:
    assert (b"1", -1) == transaction_of(Delivery([b"1", Described(outcome, [])]))
    assert (b"1", 0x24) == transaction_of(Delivery([b"1", Described(ulong(0x24), [])]))
