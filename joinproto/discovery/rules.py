"""What the releases do, rule by rule: since when, until when, and where their code says so.

The one table behind `lint`, `list`, `boot`, `would-it-split` and `ask discovery.*`; the page
docs/discovery.md prints it.  Files are those of rabbitmq/rabbitmq-server at the release's tag;
plugins before 3.8.10 stand in rabbitmq/rabbitmq-peer-discovery-*.  Releases were compared tag by
tag, 3.7.0 to 4.3.5 (discovery, D1 to D4).
"""

from __future__ import annotations

from attrs import frozen

from joinproto.discovery.releases import Ages, Release


@frozen
class ReleaseRule:
    """One thing that some releases do.  `source`: the file, and what to look for in it."""

    ages: Ages
    what: str
    source: str

    def holds(self, at: Release) -> bool:
        """Return whether this release does it."""
        return self.ages.holds(at)


RULES: list[ReleaseRule] = []


def _rule(ages: str, what: str, source: str) -> ReleaseRule:
    RULES.append(ReleaseRule(Ages.read(ages), what, source))
    return RULES[-1]


FIRST_ANSWER = _rule(
    "3.7 !3.13",
    "A node leaves itself out of the list, and joins the first other node that answers and has its"
    " tables.",
    "rabbit_mnesia.erl, join_discovered_peers",
)
RETRIES = _rule(
    "3.7.27 3.8.4 3.9",
    "A failed round is repeated (discovery_retry_limit). Before, an error ends the boot at once,"
    " and a node that reaches no other one stands alone at once.",
    "rabbit_peer_discovery.erl, discovery_retries",
)
BY_NAME = _rule(
    "3.8.4 3.9 !3.13",
    "Nodes are tried in the order of their names, not in the list's.",
    "rabbit_mnesia.erl, lists:usort(DiscoveredNodes0)",
)
SORTED = _rule(
    "3.13",
    "A node asks all listed nodes, itself too. The larger cluster comes first, then the earlier"
    " start, then the name; where it is first itself, it stands alone.",
    "rabbit_peer_discovery.erl, query_node_props",
)
REGISTERS_FIRST = _rule(
    "3.13.5 4.0",
    "A node registers before it looks. Before, it registers after it has joined or founded.",
    "rabbit_db.erl, maybe_register before sync_desired_cluster",
)
DELAY = _rule(
    "3.7 !3.8.18",
    "Without a lock a node waits for a random time, if its backend registers nodes.",
    "rabbit_peer_discovery.erl, maybe_inject_randomized_delay",
)
AWS_DELAY = _rule(
    "3.7.4 3.8 !3.8.18",
    "The AWS backend says that it registers nodes, so that they wait.",
    "rabbit_peer_discovery_aws.erl, supports_registration",
)
K8S_DELAY = _rule(
    "3.8 !3.8.18",
    "The Kubernetes backend says that it registers nodes, so that they wait.",
    "rabbit_peer_discovery_k8s.erl, supports_registration",
)
GLOBAL_LOCK = _rule(
    "3.8.18 3.9",
    "With classic_config and AWS the nodes lock each other (internal_lock_retries).",
    "rabbit_peer_discovery_classic_config.erl, rabbit_peer_discovery_aws.erl, global:set_lock",
)
K8S_LOCK = _rule(
    "3.8.18 3.9 !4.1",
    "With Kubernetes the nodes lock each other.",
    "rabbit_peer_discovery_k8s.erl, global:set_lock",
)
LOCKED_BOOT = _rule(
    "3.7 !3.13",
    "The lock is held from before the look until the node is registered; without it the boot ends."
    " Later releases hold it while they join.",
    "rabbit_mnesia.erl, init_with_lock",
)
CONSUL_LOCK = _rule(
    "3.7 !3.13.5",
    "Consul keeps a lock. Later releases hold it while they list.",
    "rabbit_peer_discovery_consul.erl, lock/1",
)
SELECTS = _rule(
    "3.13.5 4.0",
    "Consul and etcd name one node, the oldest that is registered. Before, they list all.",
    "rabbit_peer_discovery_consul.erl, rabbit_peer_discovery_etcd.erl, list_nodes/0",
)
ETCD_V3 = _rule(
    "3.8.4 3.9",
    "etcd is asked by its API v3; before, v2.",
    "rabbitmq_peer_discovery_etcd_v3_client.erl",
)
ADDS_ITSELF = _rule(
    "3.13",
    "classic_config adds the node itself to the configured list.",
    "rabbit_peer_discovery_classic_config.erl, list_nodes/0",
)
NOT_READY = _rule(
    "3.8.18 3.9 !4.1",
    "Kubernetes' pods that are not ready are listed, too.",
    "rabbit_peer_discovery_k8s.erl, notReadyAddresses",
)
PODS = _rule(
    "4.1",
    "Kubernetes' API is not asked: all pods wait for the seed, whose name follows from their own,"
    " and never end their tries.",
    "rabbit_peer_discovery_k8s.erl, seed_node/2, retry_strategy/0",
)
AWS_STATES = _rule(
    "4.2.4 4.3",
    "AWS is asked for instances in some states only.",
    "rabbit_peer_discovery_aws.erl, ec2_instance_states",
)
PLUGIN_NAMES = _rule(
    "3.8.5 3.9",
    "rabbitmq_peer_discovery_aws, _k8s, _consul and _etcd are other names of the backends.",
    "rabbitmq_peer_discovery_etcd.erl and the others, -define(DELEGATE)",
)
CLEANUP_ONE = _rule(
    "4.0.5 4.1",
    "Cleanup reads the one node that a backend names as a list of one; before, it crashes.",
    "rabbit_peer_discovery_cleanup.erl, as_list/1",
)
CLEANUP_SKIPS = _rule(
    "4.2",
    "Cleanup does nothing where the backend failed; before, a failure is an empty list.",
    "rabbit_peer_discovery_cleanup.erl, service_discovery_nodes/0",
)
