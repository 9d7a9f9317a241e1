"""A person describes an incident in their own words, and finds the world of that incident.

No sentence was taken from a world's paragraph: they are written as people write to a colleague.
The first half was used while the search was developed, and the second half only to test it.
`NIGHT` came later; nine of its sentences were not found at first.
"""

from __future__ import annotations

import pytest

from joinproto.cli.own_words import nearest_worlds, worlds_that_say
from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.incidents.entries import incident_of
from tests.cli.running import run_here

SENTENCES = {
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
"""Two to four words about an incident, lines of logs, or names of other products."""
NIGHT = {
    "[ERROR] WSREP: It may not be safe to bootstrap the cluster from this node. It was not the"
    " last one to leave the cluster": "galera-ordinal-0",
    "upgrade etcd 3.5 to 3.6 fails: too many learner members in cluster": "etcd-learner-two-stores",
    "ASG replaced our consul servers, the new ones bootstrapped with bootstrap_expect=2 and KV"
    " is empty": "etcd-blank-majority nats-first-starter",
    "consumer OffsetOutOfRange after rack lost power, ISR was only one broker": (
        "kafka-last-replica"
    ),
    "CoordinationStateRejectedException: join validation on cluster state with a different"
    " cluster uuid xyz than local cluster uuid abc, rejecting": "opensearch-bootstrap-pod",
    "down-after-milliseconds 30000 but pod came up in 10s with empty dump.rdb, slaves did"
    " FULLRESYNC and flushed": "redis-empty",
    "zookeeper ensemble: two of three data dirs were on tmpfs, after reboot they formed quorum"
    " and /brokers znodes gone": "etcd-blank-majority nats-first-starter raft-blank-rejoin",
    "zk server joined with empty dataDir and followers truncated their logs": (
        "etcd-blank-majority nats-first-starter raft-blank-rejoin"
    ),
    "cockroach init run twice by the helm job, node 1 has different cluster ID and refuses"
    " gossip": "redpanda-root etcd-pod-0 scylla-own-seed rabbitmq-server-0 mongodb-member-0",
    "crdb statefulset pod 0 lost its pv and started as a brand new cluster": (
        "redpanda-root etcd-pod-0 scylla-own-seed rabbitmq-server-0 mongodb-member-0"
    ),
    "juju postgresql charm removed the data directory of the old primary after network came"
    " back": "cnpg-partition",
    "k3k virtual cluster server-0 came back with no data and is own cluster, kubectl get ns"
    " sometimes shows old sometimes new": "etcd-pod-0",
    "nomad server rebuilt with same name, panics log not found, leader keeps sending"
    " appendentries": "raft-blank-rejoin",
    "group_replication_bootstrap_group=ON was left in my.cnf, after reboot each mysql has its"
    " own group": "galera-each-its-own galera-ordinal-0 etcd-pod-0",
    "innodb cluster complete outage, rebootClusterFromCompleteOutage chose member with lower"
    " gtid_executed": "galera-last-leaver galera-pod-0 openstack-helm-uuid openstack-helm-clock",
    "qpidd HA both brokers promoted to primary, nothing got fenced, duplicate msgs": (
        "artemis-two-live"
    ),
    "rpk says ghost brokers 0 and 3 both same host, controller has no quorum": "redpanda-root",
    "cassandra seed node replaced, it bootstrapped by itself since it is in its own seeds list,"
    " nodetool ring 2 rings": "scylla-own-seed",
    "rabbit nodes dont see each other after first helm install, rabbitmqctl cluster_status"
    " lists just 2": "rabbitmq-first-boot",
    "mongo primary alive for healthchecks but stuck in D state io hang, no writes for 20 min": (
        "stripe-2019"
    ),
    "rke2 server --cluster-reset, nodes have inconsistent kv, revision missmatch": "etcd-force-new",
    "side with 2 of 5 servers kept serving after we kicked the unreachable ones": "nats-removal",
    "strimzi kraft migration retried, brokers follow empty controllers, topics gone": (
        "kafka-second-quorum"
    ),
    "galara cluster all nodes down after power outtage which node first seqno -1": (
        "galera-last-leaver"
    ),
    "mysql-galera pod zero allways bootstraps even if pod 2 had newer transactons": (
        "galera-pod-0 galera-ordinal-0"
    ),
    "mariadb opeartor wiped galera after OOM": "galera-zero-uuid",
    "etcd quroum lost, two members with wiped /var/lib/etcd elected eachother and good node"
    " droped its data": "etcd-blank-majority",
    "java.lang.RuntimeException InconsistentClusterId: The Cluster ID doesn't match stored"
    " clusterId in meta.properties": "kafka-second-quorum",
    "elasticserch indices vanished, log: dangling index, deleted from disk because not in"
    " metadata of new master": "elasticsearch-blank-master",
    "mongo replicaset: NewReplicaSetConfigurationIncompatible after statefulset volume deleted,"
    " new primary empty": "mongodb-member-0",
    "sentinal points to blank master, slaves are flushed": "redis-empty",
    'cockroachdb node belongs to cluster {"x"} but is attempting to connect to a gossip'
    ' network for cluster {"y"}': "redpanda-root scylla-own-seed etcd-pod-0",
    "pg_auto_failover / repmgr old standby promoted itself after both nodes powered off": (
        "patroni-start-order cnpg-lagging cnpg-partition"
    ),
    "postgress split brain two primaries same timline after worker node isolated": "cnpg-partition",
    'nats-server deleted streams on startup "orphaned stream"': "nats-orphans",
    "AMQ broker shared-store NFS lock lost for a while, both live": "artemis-two-live",
    "rabbitmq statefullset parallel podmanagement splits in two clusters on first deploy": (
        "rabbitmq-first-boot"
    ),
    "{error,{inconsistent_cluster,\"Node rabbit@b thinks it's clustered with node rabbit@a, but"
    ' rabbit@a disagrees"}}': "rabbitmq-server-0",
    "rabbitmq-queues check_if_node_is_quorum_critical fails, members list contains node that"
    " was forgotten long ago": "rabbitmq-forgotten-replicas",
    "orchestrater cross-DC failover split brain mysql": "github-2018",
    "primary hung on io but heartbeat ok so no failover": "stripe-2019",
    "crm galera ocf resource wsrep_cluster_size 1 on all 3, diffrent cluster_state_uuid": (
        "galera-each-its-own"
    ),
    "proxmox host crashed took down 2 percona xtradb nodes, third one had been shutdown"
    " properly last week so i started it with --wsrep-new-cluster. big mistake": (
        "galera-last-leaver"
    ),
    "chrony was dead on worker3 and OSH mariadb came up with yesterdays data": (
        "openstack-helm-clock"
    ),
    "osh mariadb start.py picks the reboot node by largest seqno even though uuid is another": (
        "openstack-helm-uuid openstack-helm-clock policy-openstack-helm"
    ),
    "nomad servers stopped with leave_on_interrupt, now nomad server members shows left and no"
    " leader": "consul-leave-all",
    "zombie peer keeps coming back in raft group after peer-remove": (
        "nats-peer-file nats-late-heartbeat"
    ),
    "opensearch bootstrap pod got moved by karpenter while cluster was initialising and now"
    " data nodes wont join": "opensearch-bootstrap-pod",
    "mongodb openshift template pod 0 reinitiates replset after pv deleted": "mongodb-member-0",
    "rabbitmq docker swarm 5 replicas stack deploy, consul peer discovery, two separate"
    " clusters": "rabbitmq-first-boot",
    "valkey shard failover to a replica that hasnt completed initial sync, zero keys": (
        "valkey-never-synced"
    ),
    "redis started with default config instead of /etc/redis/redis.conf, no aof, all credit"
    " balances zeroed": "twilio-2013",
    "43 second partition then mysql topologies diverged": "github-2018",
    "artemis replica took over mid initial sync": "artemis-half-copy",
}
"""Texts typed at night: parts of logs, command lines, typing errors, and other systems."""
FIRST_RESULTS = 3


@pytest.mark.parametrize("text", SENTENCES)
def test_an_incident_in_own_words_is_among_the_first_results(text: str) -> None:
    first = [item.name for item in nearest_worlds(text, ENTRIES)][:FIRST_RESULTS]

    assert {f"incident-{name}" for name in SENTENCES[text].split()} & {*first}, first


@pytest.mark.parametrize("text", [*SHORT, *NIGHT])
def test_an_incident_is_among_the_first_results_for_its_words(text: str) -> None:
    """In the order of `joinproto models --grep`: worlds with the exact text, and then others."""
    exact, near = worlds_that_say(text, ENTRIES)
    first = [*dict.fromkeys(incident_of(item.name) for item in exact + near)][:FIRST_RESULTS]

    assert {*{**SHORT, **NIGHT}[text].split()} & {*first}, first


def test_words_that_no_world_has_are_not_counted() -> None:
    """A person may also write words that are not about the fault."""
    case = "redis sentinel gave the new pod its own ip as master"
    noise = "Guillermo's on-call pager screamed at dinner, pizza cold"

    one, other = (nearest_worlds(text, ENTRIES) for text in (case, f"{noise}; {case}"))

    assert one[0] == other[0]


@pytest.mark.parametrize(
    ("misspelt", "correct"),
    [
        ("galara bootstrap", "galera bootstrap"),
        ("etcd lost quroum", "etcd lost quorum"),
        ("nodes lost data after parition", "nodes lost data after partition"),
        ("statefullset restarted", "statefulset restarted"),
        ("OFFSET_OUT_OF_RANGE after restart", "OffsetOutOfRange after restart"),
    ],
)
def test_a_typing_error_in_a_long_word_changes_no_result(misspelt: str, correct: str) -> None:
    """One letter is wrong, missing, extra or swapped, or a name is written in another style."""
    assert nearest_worlds(misspelt, ENTRIES) == nearest_worlds(correct, ENTRIES) != []


def test_another_word_is_not_taken_for_a_typing_error() -> None:
    """With another first or last letter, two errors, or few letters it is another word."""
    for other in ("vartition", "partitiox", "parittoin", "powe"):
        text = f"{other} lost data after restart"

        assert nearest_worlds(text, ENTRIES) == nearest_worlds(
            "lost data after restart", ENTRIES
        ), other


def test_a_sentence_without_an_incident_finds_no_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\n0 worlds\n" in run_here(capsys, "models", "--grep", "how are you doing").out
