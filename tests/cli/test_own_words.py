"""A person in trouble tells his case in his own words, and finds the world that is his case.

None of these sentences was taken from a paragraph: they are written as people write to a colleague.
The first half was used while the search was made, the second half only to try it.
"""

from __future__ import annotations

import pytest

from joinproto.cli.own_words import nearest_worlds
from joinproto_worlds.entries import ENTRIES
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
SHOWN = 3


@pytest.mark.parametrize("said", TOLD)
def test_a_case_in_own_words_is_among_the_first(said: str) -> None:
    first = [item.name for item in nearest_worlds(said, ENTRIES)][:SHOWN]

    assert {f"incident-{name}" for name in TOLD[said].split()} & {*first}, first


def test_words_that_no_world_has_count_nothing() -> None:
    """A person tells more than what went wrong."""
    case = "redis sentinel gave the new pod its own ip as master"
    noise = "Guillermo's on-call pager screamed at dinner, pizza cold"

    one, other = (nearest_worlds(text, ENTRIES) for text in (case, f"{noise}; {case}"))

    assert one[0] == other[0]


def test_a_sentence_without_a_case_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\n0 worlds\n" in run_here(capsys, "models", "--grep", "how are you doing").out
