"""Directories of other programs, by the files that only they have: named, and not judged.

What is not read is not broken: it is never called corrupt, and never given up.

Source: the programs' own documents on their data directories.
"""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen


@frozen
class Other:
    """A program, which names its directory has, and which not; `advice`: for its operator."""

    name: str
    has: frozenset[str]
    advice: str
    lacks: frozenset[str] = frozenset()


MAJORITY = "start the nodes: a majority has the latest by itself, and no store need be picked"

OTHERS = (
    Other(
        "RabbitMQ with Khepri",
        frozenset({"coordination"}),
        f"{MAJORITY}; force_boot is refused; only if the majority is lost for good: rabbitmqctl"
        " force_standalone_khepri_boot on one that was started and waits; what the others had"
        " beyond it is lost",
        lacks=frozenset({"schema.DAT"}),
    ),
    Other("etcd (its member directory)", frozenset({"snap", "wal"}), "give the directory above"),
    Other("ZooKeeper", frozenset({"version-2"}), MAJORITY),
    Other(
        "Kafka",
        frozenset({"meta.properties"}),
        "start the brokers, controllers first: a majority of the controllers must come",
    ),
    Other("Elasticsearch or OpenSearch", frozenset({"_state"}), MAJORITY),
    Other("MongoDB", frozenset({"WiredTiger", "storage.bson"}), MAJORITY),
    Other(
        "ActiveMQ Artemis",
        frozenset({"bindings", "journal"}),
        "start the live broker first, its backup after it",
    ),
)

NOBODY = Other(
    "a program that no reader here knows",
    frozenset(),
    "find out which program wrote it, and keep it: that it is not read here says nothing of it",
)
NOT_DATA = frozenset({"lost+found"})

TELLING = frozenset[str]().union(*(one.has | one.lacks for one in OTHERS))
"""All names that tell one from another."""


def other_in(entries: Collection[str]) -> Other | None:
    """Return whose directory it is, None if it is empty."""
    names = frozenset(entries)
    known = (one for one in OTHERS if one.has <= names and not one.lacks & names)
    return next(known, NOBODY if names else None)
