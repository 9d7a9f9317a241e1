"""A person in trouble tells his case in his own words, and finds the world that is his case.

None of these sentences was taken from a paragraph: they are written as people write to a colleague.
The first half was used while the search was made, the second half only to try it.
"""

from __future__ import annotations

import pytest

from joinproto.cli.own_words import nearest_worlds, worlds_that_say
from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.incidents.entries import incident_of
from tests.cli.running import run_here

TOLD = {
    "after a reboot of all three VMs the first one came up empty and the others synced from it and"
    " lost everything": "galera-pod-0 etcd-blank-majority redis-empty",
    "we lost the cache master for a couple of seconds, k8s brought it back with nothing in it and"
    " the slaves copied that": "redis-empty",
    "two out of three etcd boxes got rebuilt from scratch, they elected each other and my good one"
    " threw its data away": "etcd-blank-majority",
    "someone bootstrapped the wrong mariadb box after the datacenter lost power, it was the one"
    " that had been off since last month": "galera-last-leaver",
    "my rabbit pods show different queues depending on which one I hit, since the PVC of the first"
    " one got deleted": "rabbitmq-server-0",
    "ansible added three new controllers to our kafka and now they elected a leader among"
    " themselves": "kafka-second-quorum",
    "the broker I kicked out shows up again in the raft peers once the leader was"
    " bounced": "nats-peer-file nats-late-heartbeat",
    "the live artemis died while the backup was still copying and the backup took over with half"
    " the queue": "artemis-half-copy",
    "short network glitch between our two regions, failover went to the other coast, both"
    " databases took writes": "github-2018",
    "flaky top of rack switch, etcd kept electing new leaders all night and nothing could be"
    " written": "cloudflare-2020",
    "customers got billed several times because redis had come back with zero"
    " balances": "twilio-2013",
    "ntp was off on one host and the chart picked an older galera node": "openstack-helm-clock",
    "restored a pvc from the wrong environment and mariadb picked that one because its seqno was"
    " bigger": "openstack-helm-uuid",
    # The second half.
    "k3s: we reset etcd with cluster-reset on one master, afterwards kubectl shows different pods"
    " depending on the server": "etcd-force-new",
    "mariadb operator picked the pod with nothing in it after a recovery timed"
    " out": "galera-zero-uuid",
    "redis sentinel gave the new pod its own ip as master": "redis-empty",
    "switch died half way, node 1 could not see node 3 but node 2 could see both, leader election"
    " storm": "cloudflare-2020",
    "stretched postgres, old primary got rewound and its transactions are gone after network came"
    " back": "cnpg-partition cnpg-lagging",
    "nats raft lost records after removing peers during a partition": "nats-removal",
    "helm upgrade left forceBootstrap on and later the pod made a second galera": (
        "galera-ordinal-0"
    ),
    "replica with offset 0 won": "valkey-never-synced",
    "leader said healthy but was hung, no failover": "stripe-2019",
    "playbook recovered the db with the highest seqno but that node was shut down weeks"
    " before": "galera-last-leaver",
    "NFS lock came back and we've two brokers active on the same journal": "artemis-two-live",
    "the bootstrap node moved to another worker during install and the data nodes say not the same"
    " uuid": "opensearch-bootstrap-pod",
    "first pod of the statefulset got a new volume and started a cluster of its own": (
        "mongodb-member-0 rabbitmq-server-0"
    ),
    "we have two nodes that both say they are the primary after the network was fixed": (
        "cnpg-partition artemis-two-live github-2018"
    ),
}
SHORT = {
    "split brain": "rabbitmq-server-0 mongodb-member-0 cnpg-partition etcd-pod-0 github-2018",
    "two clusters": "scylla-own-seed rabbitmq-first-boot rabbitmq-server-0 etcd-pod-0",
    "PVC deleted": "rabbitmq-server-0 redis-empty mongodb-member-0 etcd-pod-0",
    "node re-added with the same name": "raft-blank-rejoin",
    "restored snapshot": "etcd-force-new openstack-helm-uuid",
    "tocommit is out of range": "raft-blank-rejoin",
    "etcd cluster ID mismatch": "etcd-blank-majority etcd-pod-0",
    "etcd restore snapshot": "etcd-force-new",
    "k3s etcd split brain": "etcd-pod-0 etcd-force-new",
    "It may not be safe to bootstrap the cluster from this node": "galera-ordinal-0",
    "galera SST overwrote data": "galera-last-leaver galera-pod-0",
    "pacemaker galera three clusters": "galera-each-its-own",
    "thinks it's clustered but disagrees": "rabbitmq-server-0",
    "rabbitmq peer discovery race": "rabbitmq-first-boot",
    "quorum queue has no majority": "rabbitmq-forgotten-replicas",
    "INCONSISTENT_CLUSTER_ID": "kafka-second-quorum",
    "unclean leader election": "kafka-last-replica",
    "mongo two primaries": "mongodb-member-0",
    "redis full resync empty": "redis-empty",
    "empty replica elected": "valkey-never-synced",
    "lost all master nodes indices gone": "elasticsearch-blank-master",
    "elasticsearch cluster UUID mismatch": "opensearch-bootstrap-pod",
    "old primary started first": "patroni-start-order",
    "patroni two leaders": "cnpg-partition",
    "pg_rewind lost data": "cnpg-partition cnpg-lagging patroni-start-order",
    "consul no cluster leader restart": "consul-leave-all",
    "nomad split two clusters": "rabbitmq-first-boot kafka-second-quorum",
    "vault raft node rejoin wiped": "raft-blank-rejoin",
    "cassandra seed own ring": "scylla-own-seed",
    "asymmetric partition": "cloudflare-2020",
    "cannot see the leader": "cloudflare-2020",
    "consul bootstrap_expect split": "rabbitmq-first-boot kafka-second-quorum",
    "hung primary": "stripe-2019",
    "jetstream streams gone": "nats-orphans nats-first-starter",
    "ghost brokers": "redpanda-root",
    "all mariadb pods crashloop": "galera-ordinal-0 galera-pod-0",
}
"""Two to four words of a case, a line of a log, or the name of another product."""
SHOWN = 3


@pytest.mark.parametrize("said", TOLD)
def test_a_case_in_own_words_is_among_the_first(said: str) -> None:
    first = [item.name for item in nearest_worlds(said, ENTRIES)][:SHOWN]

    assert {f"incident-{name}" for name in TOLD[said].split()} & {*first}, first


@pytest.mark.parametrize("said", SHORT)
def test_a_few_words_find_the_case_among_the_first(said: str) -> None:
    """As `joinproto models --grep` orders them: those that say just this, and then others."""
    just, near = worlds_that_say(said, ENTRIES)
    first = [*dict.fromkeys(incident_of(item.name) for item in just + near)][:SHOWN]

    assert {*SHORT[said].split()} & {*first}, first


def test_words_that_no_world_has_count_nothing() -> None:
    """A person tells more than the fault."""
    case = "redis sentinel gave the new pod its own ip as master"
    noise = "Guillermo's on-call pager screamed at dinner, pizza cold"

    one, other = (nearest_worlds(text, ENTRIES) for text in (case, f"{noise}; {case}"))

    assert one[0] == other[0]


def test_a_sentence_without_a_case_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\n0 worlds\n" in run_here(capsys, "models", "--grep", "how are you doing").out
