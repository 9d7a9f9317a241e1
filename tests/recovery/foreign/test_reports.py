"""Directories that people reported; for each the output would have helped.

Source: rabbitmq-server 3.10 and 4.x, galera issue 354, resource-agents 940 and 1323,
mariadb-operator 1108, 1456 and 1701.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.asking import ask_json
from tests.recovery.foreign.directories import DATA

REPORTS = DATA / "reports"


def stores(name: str) -> list[Path]:
    return sorted(path for path in (REPORTS / name).iterdir() if path.is_dir())


def named(said: dict[str, object]) -> list[str]:
    latest = said["latest"]
    assert isinstance(latest, list)
    return [str(one).rpartition("/")[2] for one in latest]


def test_the_advice_is_about_the_cluster_and_not_about_a_forgotten_node(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """c was forgotten; a and b were killed together.  Forcing c would lose the data of a and b."""
    code, said = ask_json(capsys, "pick", *stores("forgotten"))

    assert (0, "tie", ["rabbit@A", "rabbit@B"]) == (code, said["verdict"], named(said))
    assert said["next"].startswith("start all of them within five minutes: rabbit@A, rabbit@B;")
    assert "reset rabbit@C" in said["next"]
    assert not any("rabbit@A: no list here" in line for line in said["evidence"])
    assert "as far as these files show" in said["evidence"][0]


def test_an_empty_view_file_does_not_make_a_store_unreadable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After a power cut this file is empty on each node, but the data are whole."""
    nodes = stores("empty-view")
    positions = [
        word
        for node, seq in zip(nodes, (7, 8, 9), strict=True)
        for word in ("--position", f"{node}={seq}")
    ]

    code, said = ask_json(capsys, "pick", "--nodes", 3, *nodes, *positions)

    assert (5, "unproven", ["n2"]) == (code, said["verdict"], named(said))
    assert [7, 8, 9] == [one["seq"] for one in said["stores"]]
    assert "would let none of these found a cluster" in said["evidence"][0]
    assert any("gvwstate.dat: is empty; it is no evidence" in line for line in said["evidence"])


def test_a_blank_node_that_is_marked_safe_is_reported_as_a_danger(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The node would found an empty cluster, and all nodes that join it would be overwritten."""
    _, said = ask_json(capsys, "pick", *stores("blank-marked/a"))

    first = said["evidence"][0]
    assert "pod-1 found a cluster, and that is an EMPTY one" in first
    assert "take the mark away first" in first
    assert 1 == first.count("pod-1")


def test_a_blank_node_with_a_mark_of_0_founds_no_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The server obeys the mark, whatever the uuid is."""
    _, said = ask_json(capsys, "pick", *stores("blank-marked/b"))

    assert "pod-2 found a cluster" in said["evidence"][0]
    assert "pod-0" not in said["evidence"][0].partition("itself would let")[2]


def test_a_store_of_khepri_is_named_and_not_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask_json(capsys, "pick", *stores("khepri"))

    assert (5, "unproven", "not-read") == (code, said["verdict"], said["stores"][0]["state"])
    assert "RabbitMQ with Khepri" in said["evidence"][0]
    assert "a majority" in said["next"]
    assert "lost, pick without it" not in said["next"]


@pytest.mark.parametrize(
    ("names", "whose"),
    [
        (("snap", "wal"), "etcd"),
        (("version-2",), "ZooKeeper"),
        (("meta.properties", "topic-0"), "Kafka"),
        (("_state",), "Elasticsearch"),
        (("WiredTiger", "storage.bson"), "MongoDB"),
        (("jetstream",), "NATS JetStream"),
        (("raft", "serf", "node-id"), "Consul"),
        (("STORAGE_MIN_VERSION", "auxiliary"), "CockroachDB"),
        (("nodes.conf", "dump.rdb", "appendonlydir"), "Redis Cluster"),
        (("dump.rdb",), "Redis"),
        (("ibdata1", "mysql"), "MariaDB or MySQL"),
    ],
)
def test_a_directory_of_another_program_is_named(
    names: tuple[str, ...], whose: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown directory is not called corrupt."""
    for name in names:
        (tmp_path / "data" / name).mkdir(parents=True)

    code, said = ask_json(capsys, "pick", tmp_path / "data")

    assert (5, "unproven") == (code, said["verdict"])
    assert whose in said["evidence"][0]


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-01 1:00:00 0 [Note] WSREP: Recovered position: {}:12",
        "2026-01-01T01:00:00.1Z 0 [Note] [MY-000000] [WSREP] Recovered position: {}:12",
    ],
)
def test_positions_are_read_in_the_forms_that_people_have(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MariaDB's line, Percona's line, or only UUID:NUMBER."""
    node = stores("empty-view")[0]
    uuid = (node / "grastate.dat").read_text().partition("uuid:")[2].split()[0]
    log = tmp_path / "recovered.log"
    log.write_text(line.format(uuid) + "\n")

    for given in (log, f"{uuid}:12"):
        _, said = ask_json(capsys, "pick", node, "--position", f"{node}={given}")

        assert 12 == said["stores"][0]["seq"]


def test_data_of_an_unknown_program_are_not_called_corrupt_or_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "segments.000001").write_bytes(b"what nobody here knows")

    code, said = ask_json(capsys, "pick", tmp_path / "a")

    assert (5, "unproven", "not-read") == (code, said["verdict"], said["stores"][0]["state"])
    assert "a program that no reader here knows" in said["evidence"][0]
    assert "keep it" in said["next"]
    assert "--lost" not in said["next"]
