"""Directories of other programs, by the files that only they have: named, and not judged.

What is not read is not broken: it is never called corrupt, and never given up.

Source: the programs' own documents on their data directories.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from attrs import frozen


@frozen
class Other:
    """A program, whether a directory with these names is its, and what its operator does."""

    name: str
    is_here: Callable[[frozenset[str]], bool]
    advice: str


def _all(*names: str) -> Callable[[frozenset[str]], bool]:
    return lambda entries: entries.issuperset(names)


def _some(*names: str) -> Callable[[frozenset[str]], bool]:
    return lambda entries: not entries.isdisjoint(names)


MAJORITY = "start the nodes: a majority has the latest by itself, and no store need be picked"

OTHERS = (
    Other(
        "RabbitMQ with Khepri",
        lambda entries: "coordination" in entries and "schema.DAT" not in entries,
        f"{MAJORITY}; force_boot is refused; only if the majority is lost for good: rabbitmqctl"
        " force_standalone_khepri_boot on a node that runs; what the others had beyond it is lost",
    ),
    Other("etcd", _all("member"), f"{MAJORITY}; else etcdutl snapshot restore"),
    Other("etcd (its member directory)", _all("snap", "wal"), MAJORITY),
    Other("ZooKeeper", _all("version-2"), MAJORITY),
    Other(
        "Kafka",
        _all("meta.properties"),
        "start the brokers, controllers first: a majority of the controllers must come",
    ),
    Other("Elasticsearch or OpenSearch", _some("_state", "nodes"), MAJORITY),
    Other("MongoDB", _all("WiredTiger", "storage.bson"), MAJORITY),
    Other("PostgreSQL", _all("PG_VERSION", "global"), "compare with pg_controldata DIR"),
    Other(
        "ActiveMQ Artemis",
        _all("bindings", "journal"),
        "start the live broker first, its backup after it",
    ),
    Other(
        "MySQL or MariaDB without Galera",
        _all("ibdata1", "mysql"),
        "start the server; of a group, the one with the largest GTID set first",
    ),
)


TELLING = frozenset(
    [
        "coordination",
        "schema.DAT",
        "member",
        "snap",
        "wal",
        "version-2",
        "meta.properties",
        "_state",
        "nodes",
        "WiredTiger",
        "storage.bson",
        "PG_VERSION",
        "global",
        "bindings",
        "journal",
        "ibdata1",
        "mysql",
    ]
)
"""All names that the functions above ask for."""


def other_in(entries: Collection[str]) -> Other | None:
    """Return whose directory it is, None if nobody known."""
    names = frozenset(entries)
    return next((one for one in OTHERS if one.is_here(names)), None)
