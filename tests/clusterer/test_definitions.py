"""RabbitMQ's tables on nodes that are down: only a node with all definitions may start first.

The directories are of real nodes that were killed.  Each store was then started alone, so it is
known how many acknowledged declarations each has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from joinproto.apps.clusterer.definitions import (
    DAMAGED,
    NONE,
    TABLES,
    choice_file,
    require_first,
    tables_of,
)
from joinproto.apps.clusterer.service import NotFirst
from tests.recovery.foreign.directories import DATA
from tools.histories.judged import History
from tools.histories.kept import kept, laid_out


def history_in(name: str, folder: Path) -> History:
    [(_, history)] = kept(DATA / "histories" / name)
    return laid_out(history, folder)


def reports_to(history: History, me: str) -> Mapping[str, Mapping[str, str] | None]:
    return {name: tables_of(store) for name, store in history.stores.items() if name != me}


def refusal_of(history: History, me: str) -> str:
    """Return "" if a node may start first, else its refusal."""
    try:
        require_first(me, history.stores[me], reports_to(history, me))
    except NotFirst as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("name", "first"), [("rabbitmq-killed-together-4005", "b"), ("rabbitmq-killed-4006", "a")]
)
def test_a_node_that_has_all_acknowledged_definitions_starts_first(
    name: str, first: str, tmp_path: Path
) -> None:
    """The other nodes lack some of them, and name the node that starts first."""
    history = history_in(name, tmp_path)

    said = {node.partition("@")[0]: refusal_of(history, node) for node in history.stores}

    assert [] == sorted(history.lacks(f"{first}@localhost"))
    assert "" == said.pop(first)
    for node, why in said.items():
        assert history.lacks(f"{node}@localhost")
        assert f"{first}@localhost has " in why
        assert "and all that this node has: it starts first" in why


def test_if_each_node_lacks_definitions_no_node_starts_until_an_operator_chooses(
    tmp_path: Path,
) -> None:
    """a was forced to start, and got new definitions; c has definitions that a lacks."""
    history = history_in("rabbitmq-forced-4022", tmp_path)

    said = {node: refusal_of(history, node) for node in history.stores}

    for node, why in said.items():
        assert "no node can start first without a loss" in why
        assert f"touch {choice_file(history.stores[node])}" in why
    choice_file(history.stores["a@localhost"]).touch()
    assert "" == refusal_of(history, "a@localhost")
    assert "" != refusal_of(history, "c@localhost")


def test_a_node_does_not_start_first_if_a_fact_about_another_node_is_unknown(
    tmp_path: Path,
) -> None:
    history = history_in("rabbitmq-killed-together-4005", tmp_path)
    b = history.stores["b@localhost"]
    whole = reports_to(history, "b@localhost")

    for said, why in (
        (None, "a@localhost has not reported"),
        ({}, "a@localhost has not reported"),
        ({TABLES: DAMAGED, "why": "LATEST.LOG: is cut"}, "a@localhost are not known: LATEST"),
        ({TABLES: "read"}, "more definitions than can be sent"),
        ({TABLES: "read", "entries": "x", "deleted": ""}, "more definitions than can be sent"),
    ):
        with pytest.raises(NotFirst, match=why):
            require_first("b@localhost", b, {**whole, "a@localhost": said})

    require_first("b@localhost", b, {**whole, "a@localhost": {TABLES: NONE}})


def test_a_damaged_table_is_reported_as_damaged_and_an_empty_disk_as_empty(tmp_path: Path) -> None:
    history = history_in("rabbitmq-killed-together-4005", tmp_path)
    a = history.stores["a@localhost"]
    (a / "rabbit_vhost.DCD").unlink()

    assert DAMAGED == tables_of(a)[TABLES]
    assert "are not known: the tables cannot be read: rabbit_vhost.DCD" in refusal_of(
        history, "b@localhost"
    )
    assert {TABLES: NONE} == tables_of(tmp_path / "not there")
    (tmp_path / "empty").mkdir()
    assert {TABLES: NONE} == tables_of(tmp_path / "empty")


def test_a_node_with_khepri_asks_no_other_node(tmp_path: Path) -> None:
    """Khepri's majority has the latest definitions without the nodes' help."""
    (tmp_path / "k" / "coordination").mkdir(parents=True)

    for flags in ("", "[khepri_db,stream_queue].\n"):
        if flags:  # each real node keeps this file next to its directory
            (tmp_path / "k-feature_flags").write_text(flags, "utf-8")
        assert {} == tables_of(tmp_path / "k")
        require_first("k", tmp_path / "k", {"other": None})
