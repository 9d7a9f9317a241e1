"""Worlds of incidents end as their entries say, and are found by a user's words."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.entry import Entry
from joinproto_worlds.incidents.entries import ENTRIES, incident_of
from joinproto_worlds.incidents.spoken import SPOKEN
from tests.census import searched, weight

COUNTS = {
    "incident-artemis-half-copy": (9, 10, 4),
    "incident-artemis-half-copy-fixed": (10, 14, 5),
    "incident-artemis-half-copy-ours": (500, 2_746, 25),
    "incident-artemis-two-live": (13, 19, 5),
    "incident-artemis-two-live-fixed": (12, 18, 5),
    "incident-artemis-two-live-left": (31, 49, 6),
    "incident-cloudflare-2020": (4, 5, 4),
    "incident-cloudflare-2020-fixed": (2, 2, 2),
    "incident-cloudflare-2020-ours": (726, 7_265, 18),
    "incident-cnpg-lagging": (40, 63, 7),
    "incident-cnpg-lagging-fixed": (34, 52, 7),
    "incident-cnpg-partition": (18, 21, 7),
    "incident-cnpg-partition-fixed": (17, 20, 6),
    "incident-cnpg-partition-left": (7, 7, 3),
    "incident-consul-leave-all": (51, 146, 7),
    "incident-consul-leave-all-fixed": (54, 153, 8),
    "incident-elasticsearch-blank-master": (5, 6, 4),
    "incident-elasticsearch-blank-master-fixed": (3, 4, 3),
    "incident-etcd-blank-majority": (18, 29, 7),
    "incident-etcd-blank-majority-fixed": (11, 13, 5),
    "incident-etcd-blank-majority-left": (11, 13, 5),
    "incident-etcd-blank-majority-ours": (528, 5_753, 13),
    "incident-etcd-force-new": (5, 5, 4),
    "incident-etcd-force-new-fixed": (3, 3, 3),
    "incident-etcd-learner-two-stores": (4, 5, 3),
    "incident-etcd-learner-two-stores-fixed": (4, 5, 3),
    "incident-etcd-learner-two-stores-left": (6, 8, 4),
    "incident-etcd-pod-0": (4, 4, 3),
    "incident-etcd-pod-0-fixed": (3, 3, 3),
    "incident-galera-each-its-own": (13, 16, 3),
    "incident-galera-each-its-own-fixed": (5, 8, 4),
    "incident-galera-last-leaver": (11, 13, 5),
    "incident-galera-last-leaver-fixed": (11, 14, 5),
    "incident-galera-last-leaver-ours": (2_900, 44_659, 22),
    "incident-galera-ordinal-0": (2, 2, 2),
    "incident-galera-ordinal-0-fixed": (17, 21, 6),
    "incident-galera-pod-0": (15, 17, 4),
    "incident-galera-pod-0-fixed": (16, 22, 10),
    "incident-galera-pod-0-left": (8, 12, 5),
    "incident-galera-zero-uuid": (13, 14, 8),
    "incident-galera-zero-uuid-fixed": (19, 22, 9),
    "incident-github-2018": (17, 24, 5),
    "incident-github-2018-fixed": (9, 12, 5),
    "incident-github-2018-left": (17, 24, 5),
    "incident-github-2018-ours": (43_221, 340_911, 31),
    "incident-kafka-last-replica": (10, 12, 8),
    "incident-kafka-last-replica-fixed": (12, 15, 7),
    "incident-kafka-second-quorum": (4, 4, 2),
    "incident-kafka-second-quorum-fixed": (4, 5, 3),
    "incident-mongodb-member-0": (4, 4, 3),
    "incident-nats-first-starter": (41, 64, 7),
    "incident-nats-late-heartbeat": (5, 5, 4),
    "incident-nats-late-heartbeat-fixed": (4, 4, 3),
    "incident-nats-orphans": (94, 175, 7),
    "incident-nats-peer-file": (5, 5, 3),
    "incident-nats-peer-file-fixed": (4, 5, 3),
    "incident-nats-removal": (22, 43, 6),
    "incident-nats-removal-fixed": (10, 13, 5),
    "incident-opensearch-bootstrap-pod": (16, 18, 6),
    "incident-opensearch-bootstrap-pod-ours": (1_771, 18_809, 22),
    "incident-openstack-helm-clock": (14, 18, 5),
    "incident-openstack-helm-uuid": (7, 8, 5),
    "incident-patroni-start-order": (35, 47, 9),
    "incident-patroni-start-order-fixed": (32, 45, 10),
    "incident-rabbitmq-first-boot": (5_448, 11_227, 7),
    "incident-rabbitmq-first-boot-fixed": (1_138, 3_018, 9),
    "incident-rabbitmq-first-boot-ours": (1_315, 3_085, 14),
    "incident-rabbitmq-forgotten-replicas": (8, 8, 4),
    "incident-rabbitmq-forgotten-replicas-fixed": (9, 11, 5),
    "incident-rabbitmq-server-0": (390, 813, 11),
    "incident-rabbitmq-server-0-ours": (542, 1_144, 14),
    "incident-raft-blank-rejoin": (4, 4, 4),
    "incident-raft-blank-rejoin-fixed": (5, 5, 5),
    "incident-redis-empty": (12, 13, 5),
    "incident-redis-empty-fixed": (9, 11, 5),
    "incident-redis-empty-ours": (2_649, 42_264, 24),
    "incident-redpanda-root": (9, 10, 4),
    "incident-redpanda-root-fixed": (4, 4, 4),
    "incident-redpanda-root-left": (25, 42, 6),
    "incident-scylla-own-seed": (8, 9, 4),
    "incident-scylla-own-seed-fixed": (6, 7, 4),
    "incident-stripe-2019": (12, 13, 4),
    "incident-twilio-2013": (4, 4, 3),
    "incident-twilio-2013-fixed": (5, 8, 4),
    "incident-twilio-2013-left": (4, 4, 3),
    "incident-valkey-never-synced": (6, 6, 3),
    "incident-valkey-never-synced-fixed": (8, 9, 5),
}
"""Distinct states, steps and depth."""

NAMES = [
    pytest.param(item, id=item.name, marks=weight(item.name, "join-worlds")) for item in ENTRIES
]


@pytest.mark.parametrize("item", NAMES)
def test_an_incident_ends_as_its_entry_says(item: Entry) -> None:
    """The length of the shortest run and the size of the search are pinned, too."""
    report = searched(item.name)

    assert item.expected == report.result
    assert item.steps == (None if report.trace is None else len(report.trace.steps))
    assert COUNTS[item.name] == (report.distinct, report.generated, report.depth)


@pytest.mark.parametrize("item", NAMES)
def test_a_world_has_a_sometimes_and_takes_all_its_faults(item: Entry) -> None:
    """One world needs no *sometimes*.  A world that fails may end before a fault happens."""
    claims = load_world(item.name).properties
    report = searched(item.name)

    assert any(claim.kind == "sometimes" for claim in claims) or item.name.endswith("majority-ours")
    if report.result == "holds":
        assert not [said for said in report.coverage.never if said.startswith("fault")]


def test_an_incident_has_a_description_a_link_and_words_to_search_for() -> None:
    for item in ENTRIES:
        assert 40 <= len(item.happened.split()) <= 110, item.name
        assert urlsplit(item.link).scheme == "https"
        assert item.spoken, item.name
    assert {incident_of(item.name) for item in ENTRIES} == {*SPOKEN}
    assert 25 <= len({incident_of(item.name) for item in ENTRIES})


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("pod 0 lost its volume and made a rabbitmq cluster of its own", "rabbitmq-server-0"),
        ("mariadb pods in CrashLoopBackOff, safe_to_bootstrap is 0 everywhere", "galera-ordinal-0"),
        ("redis came back empty after a restart and wiped its replicas", "redis-empty"),
        ("two nats servers had a corrupt snapshot and the streams were deleted", "nats-orphans"),
        ("postgres failover took a standby that lagged, commits are gone", "cnpg-lagging"),
        ("etcd has no stable leader since the switch broke", "cloudflare-2020"),
        ("seqno is -1 on two of three nodes and the oldest bootstrapped", "galera-last-leaver"),
    ],
)
def test_an_incident_is_found_by_the_words_of_a_user(said: str, name: str) -> None:
    """`joinproto models --grep` lists the incident among the first three."""
    from joinproto.cli.own_words import nearest_worlds

    found = [incident_of(item.name) for item in nearest_worlds(said, ENTRIES)]

    assert name in found[:3]
