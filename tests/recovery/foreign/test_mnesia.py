"""Mnesia's tables on disk: a node's definitions, and how those of two nodes compare.

Source: recovery, "Foreign formats"; the logs as OTP 25 writes them.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.pick.definitions import Definitions
from joinproto.recovery.foreign.mnesia import CLOSED, ITEM_MAGIC, MAGIC, OPENED, definitions_in
from joinproto.recovery.foreign.text import NotAsWritten

TABLE = "rabbit_durable_exchange"


def atom(name: str) -> bytes:
    return b"d" + len(name).to_bytes(2, "big") + name.encode()


def binary(text: str) -> bytes:
    return b"m" + len(text).to_bytes(4, "big") + text.encode()


def tuple_of(*parts: bytes) -> bytes:
    return b"h" + bytes([len(parts)]) + b"".join(parts)


def list_of(*parts: bytes) -> bytes:
    return b"l" + len(parts).to_bytes(4, "big") + b"".join(parts) + b"j" if parts else b"j"


def key(name: str) -> bytes:
    return tuple_of(atom("resource"), binary("/"), atom("exchange"), binary(name))


def record(name: str, value: str = "") -> bytes:
    return tuple_of(atom("exchange"), key(name), binary(value))


def change(name: str, op: str = "write", *, table: str = TABLE, value: str = "") -> bytes:
    return tuple_of(tuple_of(atom(table), key(name)), record(name, value), atom(op))


def commit(*changes: bytes, decision: bytes = b"") -> bytes:
    outcome = decision or atom("presume_commit")
    rest = (list_of(), list_of(*changes), list_of(), list_of(), list_of())
    return tuple_of(atom("commit"), atom("a@h"), outcome, *rest)


def abort_decision(number: int) -> bytes:
    return tuple_of(atom("decision"), bytes([97, number]), atom("presume_abort"), b"j", b"j")


def commit_decision(number: int) -> bytes:
    return tuple_of(atom("decision"), bytes([97, number]), atom("committed"), b"j", b"j")


def log(*terms: bytes, status: bytes = OPENED) -> bytes:
    found = MAGIC + status
    for term in terms:
        found += (len(term) + 1).to_bytes(4, "big") + ITEM_MAGIC + b"\x83" + term
    return found


def node(*terms: bytes, status: bytes = OPENED, **tables: bytes) -> Definitions:
    files = {name.replace("_dcd", ".DCD").replace("_dcl", ".DCL"): tables[name] for name in tables}
    return definitions_in({"LATEST.LOG": log(*terms, status=status), **files})


def test_tables_and_logs_are_read_in_the_order_in_which_they_were_written() -> None:
    """First the table, then its changes, then the transactions that are in neither."""
    found = node(
        commit(change("c"), change("a", "delete")),
        **{f"{TABLE}_dcd": log(record("a"), record("b")), f"{TABLE}_dcl": log(change("d"))},
    )

    other = node(commit(change("b"), change("c"), change("d")))

    assert found.values == other.values
    assert 1 == len(found.deleted)
    assert 3 == found.own


def test_a_transaction_that_asked_others_counts_once_it_is_decided() -> None:
    waiting = node(commit(change("a"), decision=abort_decision(5)))
    done = node(commit(change("a"), decision=abort_decision(5)), commit_decision(5))

    assert (0, 1) == (len(waiting.values), waiting.in_doubt)
    assert (1, 0) == (len(done.values), done.in_doubt)


def test_a_node_that_wrote_its_log_earlier_lacks_the_later_changes() -> None:
    """Both nodes acknowledged the same changes, but a wrote its log later."""
    a = node(commit(change("x-1")))
    b = node(commit(change("x-1")), commit(change("x-2")))

    assert (0, 1) == (a.changes_missing_in(b), b.changes_missing_in(a))


def test_a_deletion_counts_as_a_later_change() -> None:
    """a still has the definition that b deleted, so b is later."""
    a = node(commit(change("x-1")))
    b = node(commit(change("x-1")), commit(change("x-1", "delete")))

    assert (0, 1) == (a.changes_missing_in(b), b.changes_missing_in(a))


def test_two_values_under_one_key_count_in_both_directions() -> None:
    a, b = (node(commit(change("x", value=value))) for value in ("1", "2"))

    assert (1, 1) == (a.changes_missing_in(b), b.changes_missing_in(a))


@pytest.mark.parametrize("status", [OPENED, CLOSED])
def test_a_log_with_an_incomplete_term_is_refused(status: bytes) -> None:
    """Mnesia drops it; but a disk that lost much more than the last write leaves the same."""
    first = log(commit(change("a")), status=status)
    whole = log(commit(change("a")), commit(change("b")), status=status)

    for size in range(len(first) + 1, len(whole)):
        for data in (whole[:size], whole[:size] + bytes(len(whole) - size)):
            with pytest.raises(NotAsWritten):
                definitions_in({"LATEST.LOG": data})


def test_an_empty_or_missing_latest_log_is_accepted_next_to_a_previous_log() -> None:
    """A dump renames the log and makes a new one; a kill may happen before or after that."""
    previous = {"PREVIOUS.LOG": log(commit(change("a")))}

    for files in (previous, {**previous, "LATEST.LOG": b""}):
        assert 1 == len(definitions_in(files).values)


@pytest.mark.parametrize(
    "data", [b"", b"x" * 40, MAGIC + b"none" + b"\0" * 8, log(b"\xff"), log(tuple_of(b"\xff"))]
)
def test_a_file_that_is_not_a_log_of_mnesia_is_refused(data: bytes) -> None:
    with pytest.raises(NotAsWritten):
        definitions_in({"LATEST.LOG": data} if data else {})


def test_the_definitions_of_a_new_node_are_not_counted_as_own() -> None:
    """For example the exchanges that RabbitMQ makes for each virtual host."""
    assert 0 == node(commit(change(""), change("amq.direct"))).own
    assert 1 == node(commit(change("amq.direct"), change("orders"))).own


@given(
    at=st.integers(min_value=0),
    damage=st.binary(min_size=1, max_size=24) | st.integers(1, 64).map(bytes),
)
def test_any_bytes_within_a_log_are_read_or_refused(at: int, damage: bytes) -> None:
    whole = log(
        abort_decision(1),
        commit(change("a"), decision=abort_decision(1)),
        commit_decision(1),
        commit(change("b")),
    )
    at %= len(whole)
    data = whole[:at] + damage + whole[at + len(damage) :]

    with suppress(NotAsWritten):
        assert definitions_in({"LATEST.LOG": data}).own <= 2
