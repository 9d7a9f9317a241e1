"""Words by which people search for an incident, besides those of its description.

They are log lines, and names of settings, of tools, and of other systems with such incidents.
Only `joinproto models --grep` reads them.
"""

SPOKEN = {
    "artemis-half-copy": "incomplete replication, backup activated with missing messages, unsynced"
    " journal, slave not in sync took over, backup announced and not synchronized, initial"
    " replication synchronization, queues came back short; Qpid: a backup that is still"
    " catching up",
    "artemis-two-live": "split brain, two masters, both brokers live, shared store, NFS lock,"
    " network isolation, vote on replication failure, fencing, duplicate messages,"
    " check-for-live-server, both consume; Qpid: both promoted",
    "cloudflare-2020": "asymmetric partition, partial partition, one-way link, one node cannot see"
    " or reach the leader, leader election loop, flapping leader, no leader, lost leader,"
    " rising term, disruptive server, PreVote, CheckQuorum, etcdserver: request timed out,"
    " elected leader at term, election storm, lost the TCP streaming connection; Consul,"
    " Nomad, ZooKeeper, TiKV",
    "cnpg-lagging": "asynchronous replica promoted, replication lag, lost transactions, failover"
    " lost commits, RPO, maximum_lag_on_failover, synchronous_commit, CNPG, Patroni,"
    " pg_rewind, replica with the most lag, behind by gigabytes, pg_stat_replication",
    "cnpg-partition": "split brain, two primaries, two leaders, fencing, STONITH, timeline"
    " diverged, highest timeline of the primary is behind recovery timeline, pg_rewind,"
    " Patroni, repmgr, Stolon, remove_data_directory_on_diverged_timelines",
    "consul-leave-all": "no cluster leader after restart of all servers, leave_on_terminate, peers"
    " null, outage recovery, raft peers, bootstrap_expect, lost quorum, failed to sync remote"
    " state, no known peers, aborting election, empty peers.json, graceful leave; Nomad",
    "elasticsearch-blank-master": "all indices gone, indexes deleted, dangling indices, red"
    " cluster, lost master nodes, cluster state lost, new master empty, dangling index, exists"
    " on local file system, but not in cluster metadata, MasterNotDiscoveredException,"
    " node.master, path.data; OpenSearch",
    "etcd-blank-majority": "cluster ID mismatch, data dir deleted, member wiped,"
    " initial-cluster-state new, all keys gone, quorum of blank members, lost quorum, disks"
    " replaced one by one; Consul, Nomad, Vault: servers replaced by an autoscaling group with"
    " bootstrap_expect; ZooKeeper: empty dataDir, version-2, znodes gone",
    "etcd-force-new": "split brain, inconsistent data, reads differ, revision mismatch, restored"
    " snapshot, etcdctl snapshot restore, cluster-reset, alarm CORRUPT, RKE2, disaster"
    " recovery, found data inconsistency with peers, different values by endpoint",
    "etcd-learner-two-stores": "membership data inconsistent, panic on upgrade from 3.5 to 3.6,"
    " kubeadm, member is a learner after promote, v2store, too many learner members in"
    " cluster, isLearner",
    "etcd-pod-0": "split brain, two clusters, cluster ID mismatch, member count is unequal, has"
    " already been bootstrapped, data dir wiped, Helm chart, kubernetes API flips,"
    " initial-cluster-state new, MySQL Group Replication: group_replication_bootstrap_group"
    " left on; CockroachDB: cockroach init twice",
    "galera-each-its-own": "split brain, three clusters, first bootstrap, fallback node, promote"
    " on all nodes, OCF, pcs resource, wsrep_cluster_size 1 on each node, MySQL Group"
    " Replication: group_replication_bootstrap_group on each",
    "galera-last-leaver": "wrong node bootstrapped, SST overwrote data, lost transactions, old"
    " data after a power cut, which node has the latest data, most advanced node, all nodes"
    " down, galera_recovery, kolla mariadb_recovery, recovered position, rolled back weeks;"
    " MySQL Group Replication, InnoDB Cluster: rebootClusterFromCompleteOutage, complete"
    " outage, gtid_executed",
    "galera-ordinal-0": "It may not be safe to bootstrap the cluster from this node, edit"
    " grastate.dat manually, force safe_to_bootstrap, forceBootstrap, bootstrapFromNode, all"
    " pods down, most advanced node, which node first, It was not the last one to leave the"
    " cluster and may not contain all the updates, no nodes coming from prim view, prim not"
    " possible, OrderedReady",
    "galera-pod-0": "wrong node bootstrapped, safe_to_bootstrap set to 1 by a script, SST"
    " overwrote data, lost transactions after all pods crashed, podManagementPolicy, pod 0"
    " always bootstraps, older data won, newer pod overwritten",
    "galera-zero-uuid": "00000000-0000-0000-0000-000000000000, empty database after recovery,"
    " wsrep recover timed out, operator recovery job, all databases gone, force cluster"
    " bootstrap in pod",
    "github-2018": "split brain, two primaries, cross region failover, orchestrator promoted,"
    " writes on both sides, diverged replicas, GTID errant transactions, multi datacenter,"
    " MySQL Group Replication, InnoDB ClusterSet, how to merge two masters",
    "kafka-last-replica": "unclean leader election, ISR shrink, last replica standing, data loss"
    " after power failure, out of sync, min.insync.replicas, truncated offsets, fsync,"
    " OFFSET_OUT_OF_RANGE, eligible leader replicas, acks=all, log end offset, acked messages"
    " missing, power loss",
    "kafka-second-quorum": "two quorums, two active controllers, split brain, kafka-storage"
    " format, formatted twice, --standalone, --initial-controllers, controller.quorum.voters,"
    " INCONSISTENT_CLUSTER_ID, cluster.id mismatch, removed controller rejoins, auto.join, The"
    " Cluster ID doesn't match stored clusterId in meta.properties, migration from ZooKeeper,"
    " empty controllers, topics gone; Consul, Nomad: new servers with bootstrap_expect elect a"
    " leader of their own",
    "mongodb-member-0": "replicaSetId mismatch, replica set IDs do not match,"
    " NewReplicaSetConfigurationIncompatible, two primaries, already initialized, rs.initiate"
    " twice, PVC deleted, split brain, two replica sets, Our replica set config is invalid or"
    " we are not a member of it, rs.status, replSetId",
    "nats-first-starter": "stream not found after restart, no streams, meta leader, JetStream not"
    " enabled, lost all streams and consumers, stream name already in use, store_dir empty;"
    " ZooKeeper: two empty servers elect each other",
    "nats-late-heartbeat": "removed peer came back, ghost peer, offline server still listed, peer"
    " remove, removed controller rejoins, ghost member, server report jetstream, meta group,"
    " offline peer",
    "nats-orphans": "streams gone, orphaned stream cleanup, data directory deleted, meta snapshot,"
    " lost messages after restart, cleaning up orphaned stream, store_dir removed",
    "nats-peer-file": "removed peer came back, ghost peer, peers.idx, wrong quorum size, peer"
    " remove, peers.json, server report jetstream, raft peer-remove; Consul, Vault remove-peer",
    "nats-removal": "membership change without quorum, minority removed a node, peer-remove in a"
    " partition, split brain, two leaders, acknowledged messages lost, joint consensus, kicked"
    " the unreachable servers, quorum shrank; Consul, Vault: remove-peer in a partition",
    "opensearch-bootstrap-pod": "cluster UUID mismatch, join validation on cluster state with a"
    " different cluster uuid, cluster.initial_master_nodes, master not discovered yet, ECK,"
    " previously joined another cluster, CoordinationStateRejectedException, than local"
    " cluster uuid, rejecting",
    "openstack-helm-clock": "clock skew, wrong time, older node chosen, expired heartbeat,"
    " configmap, data lost after power cut, OSH mariadb",
    "openstack-helm-uuid": "old backup restored, foreign history, volume of another cluster,"
    " different cluster state uuid, restored snapshot, clone of a disk, OSH mariadb",
    "patroni-start-order": "old primary came back first, old leader started alone, stale leader,"
    " lost transactions after a power cut, last running node, which node first, all nodes"
    " down, start order, pg_rewind, DCS lost, leader lock, powered on in the wrong order,"
    " timeline; repmgr, Stolon, MySQL, MongoDB rollback; pg_auto_failover",
    "rabbitmq-first-boot": "split brain, two clusters, peer discovery race, parallel start,"
    " randomized startup delay, partial cluster, cluster_formation, nodes did not join,"
    " standalone nodes, fresh install, first deploy, podManagementPolicy Parallel,"
    " cluster_status lists only some nodes, nodes do not see each other; Consul, Nomad:"
    " bootstrap_expect, split into two clusters at the first start",
    "rabbitmq-forgotten-replicas": "ghost replica, quorum queue without majority, quorum queue"
    " down, member of a removed node, timeout in forget_cluster_node, shrink, minority,"
    " check_if_node_is_quorum_critical, delete_member, leader unknown",
    "rabbitmq-server-0": "inconsistent_cluster, Node thinks it's clustered with node but"
    " disagrees, already_member, PVC deleted, two clusters, split brain, seed node, queues"
    " missing, reset",
    "raft-blank-rejoin": "tocommit out of range, Was the raft log corrupted, truncated, or lost,"
    " CrashLoopBackOff, WAL wiped, PVC deleted, member re-added with same id, wiped disk"
    " rejoined, node was replaced under its old name, failed to get previous log: log not"
    " found, failed to get log at index, AppendEntries rejected, rebuilt under the same name"
    " or address; Consul, Nomad, Vault, TiKV, Khepri; ZooKeeper: empty dataDir under the old"
    " myid; CockroachDB",
    "redis-empty": "all keys gone, persistence disabled, auto restart, dbsize 0, full resync,"
    " FLUSHALL on replicas, sentinel data loss, switch-master, PVC deleted, restarted before"
    " sentinel noticed, down-after-milliseconds, dump.rdb, AOF, RDB, FULLRESYNC, sync:"
    " Flushing old data; Valkey, Dragonfly",
    "redpanda-root": "two clusters, ghost brokers, seed_servers empty, cluster UUID mismatch,"
    " wiped seed, split brain, node_id already in use, cluster info shows one broker;"
    " CockroachDB: node belongs to cluster but is attempting to connect to a gossip network"
    " for cluster",
    "scylla-own-seed": "split brain, two clusters, own seed, seed node started alone, gossip,"
    " nodetool status shows one node, auto_bootstrap, second ring, in its own seeds list;"
    " Cassandra; CockroachDB: started without join, cockroach init twice",
    "stripe-2019": "hung primary, stuck leader, gray failure, process alive but no progress,"
    " health check passes, no failover, frozen, D state, slow disk, task blocked for more than"
    " 120 seconds, I/O hang, heartbeats fine, stuck for weeks",
    "twilio-2013": "empty after restart, wrong redis.conf, appendonly file missing, double charge,"
    " read only replica of itself, slaveof itself, balances 0, wrong AOF path",
    "valkey-never-synced": "empty replica promoted, offset 0, shard lost all keys, cluster"
    " failover to a replica that was syncing, master_link_status down,"
    " master_sync_in_progress, loading RDB, wait_bgsave, slave without keys won; Redis Cluster",
}
"""The words for each incident, by its name without the suffix of a world."""
