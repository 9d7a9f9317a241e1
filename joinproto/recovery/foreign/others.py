"""Directories of programs that joinproto cannot read: they are recognised, and not judged.

Such a directory may be whole, so it is never called corrupt, and no advice says to give it up.  The
first entry of `OTHERS` that fits names the program.

Source: the programs' own documents; directories written by NATS 2.9, Redis 7.0, ZooKeeper 3.8 and
MariaDB 10.11.
"""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen


@frozen
class UnreadProgram:
    """A program, and the names that its directory must have (`has`) and must not have (`lacks`)."""

    name: str
    has: frozenset[str]
    advice: str
    lacks: frozenset[str] = frozenset()


MAJORITY = "start the nodes: a majority of them has the latest data, so no store must be picked"
REPLICATED = (
    "start each primary with its data before its replicas: a replica copies its primary, even an"
    " empty one"
)

OTHERS = (
    UnreadProgram(
        "RabbitMQ with Khepri",
        frozenset({"coordination"}),
        f"{MAJORITY}; force_boot is refused; only if the majority is lost for good: rabbitmqctl"
        " force_standalone_khepri_boot on a node that was started and waits; the data that only"
        " other nodes had are lost",
        lacks=frozenset({"schema.DAT"}),
    ),
    UnreadProgram(
        "etcd (its member directory)", frozenset({"snap", "wal"}), "give the directory above"
    ),
    UnreadProgram("ZooKeeper", frozenset({"version-2"}), MAJORITY),
    UnreadProgram("NATS JetStream", frozenset({"jetstream"}), MAJORITY),
    UnreadProgram(
        "Consul",
        frozenset({"raft", "serf"}),
        f"{MAJORITY}; only if the majority is lost for good: raft/peers.json on the servers that"
        " are left",
    ),
    UnreadProgram(
        "CockroachDB",
        frozenset({"STORAGE_MIN_VERSION"}),
        f"{MAJORITY}; only if the majority of a range is lost for good: cockroach debug recover",
    ),
    UnreadProgram("Redis Cluster", frozenset({"nodes.conf"}), REPLICATED),
    UnreadProgram("Redis or Valkey", frozenset({"dump.rdb"}), REPLICATED),
    UnreadProgram("Redis or Valkey", frozenset({"appendonlydir"}), REPLICATED),
    UnreadProgram(
        "MariaDB or MySQL",
        frozenset({"ibdata1"}),
        "if it was a node of Galera, its grastate.dat is lost: mariadbd --wsrep-recover shows"
        " where its data end; in a group (Group Replication) the server with the most transactions"
        " in gtid_executed bootstraps",
    ),
    UnreadProgram(
        "Kafka",
        frozenset({"meta.properties"}),
        "start the brokers, controllers first: a majority of the controllers must come",
    ),
    UnreadProgram("Elasticsearch or OpenSearch", frozenset({"_state"}), MAJORITY),
    UnreadProgram("MongoDB", frozenset({"WiredTiger", "storage.bson"}), MAJORITY),
    UnreadProgram(
        "ActiveMQ Artemis",
        frozenset({"bindings", "journal"}),
        "start the live broker first, its backup after it",
    ),
)

UNKNOWN_PROGRAM = UnreadProgram(
    "a program that no reader here knows",
    frozenset(),
    "find out which program wrote it, and keep it: it may be whole, although joinproto cannot"
    " read it",
)
NOT_DATA = frozenset({"lost+found"})

IDENTIFYING_NAMES = frozenset[str]().union(*(one.has | one.lacks for one in OTHERS))
"""All names by which a program is recognised."""


def program_in(entries: Collection[str]) -> UnreadProgram | None:
    """Return the program that wrote a directory with these names, None without a name."""
    names = frozenset(entries)
    known = (one for one in OTHERS if one.has <= names and not one.lacks & names)
    return next(known, UNKNOWN_PROGRAM if names else None)
