"""Incidents of nodes that come back, are removed by half, or start together."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import always, always_possible, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together
from joinproto_worlds.incidents.catalogue import Rule, incident
from joinproto_worlds.incidents.words import (
    DOWN,
    UP,
    Incident,
    all_serve,
    can_serve,
    does,
    fault,
    kept,
    one_cluster,
    spread,
)

THREE = ("n1", "n2", "n3")


@incident(
    "consul-leave-all",
    "Consul",
    "https://github.com/hashicorp/consul/issues/454",
    deployed=("each server that is stopped leaves the cluster, and none may lead again", 3),
    fixed=("a server that is stopped stays a peer, as leave_on_terminate=false has it", None),
)
def leave_all(rule: Rule) -> Incident:
    """All three Consul servers are stopped in order, for a reboot, and each of them leaves the
    cluster gracefully: its peers.json ends as null.  They are started again with all their data
    and find each other, but they log "no known peers. Aborting election" and "No cluster leader".
    No server may stand for election, and consul join does not help.  A person has to write
    peers.json by hand on every server.
    """

    def steps(view: View) -> Iterator[Together]:
        peers = [name for name in THREE if view[name].peer]
        for name in THREE:
            if view[name].up:
                leaves = {"peer": False} if rule == "deployed" else {}
                yield fault("a server is stopped in order", **{name: {**DOWN, **leaves}})
            else:
                yield does(f"{name} is started", **{name: {"up": True}})
        known = [name for name in peers if view[name].up]
        if 2 * len(known) > len(peers):
            yield does("a majority of the peers elects a leader", **dict.fromkeys(known, UP))

    return Incident(
        nodes={name: {**UP, "peer": True} for name in THREE},
        steps=steps,
        claims=[
            can_serve(),
            all_serve(),
            sometimes("all are down", lambda v: not any(v[name].up for name in THREE)),
        ],
        faults={"a server is stopped in order": 3},
    )


@incident(
    "elasticsearch-blank-master",
    "Elasticsearch",
    "https://github.com/elastic/elasticsearch/issues/8823",
    deployed=("a master without data says that there are no indices, and they are deleted", 3),
    fixed=("indices that the master does not know are kept, and imported as dangling", None),
)
def blank_master(rule: Rule) -> Incident:
    """All dedicated master nodes of an Elasticsearch cluster go down, and their data folders are
    lost.  A new master starts with an empty cluster state and has no indices in it.  The data
    nodes join it, receive the state, and delete the shards of all indices that it does not name.
    Since version 2 such dangling indices are kept.
    """

    def steps(view: View) -> Iterator[Together]:
        master = view["master"]
        if master.knows:
            yield fault("the masters and their data folders are lost", master={"knows": False})
        for name in ("d1", "d2"):
            it = view[name]
            if not master.knows and it.data and rule == "deployed":
                yield does(
                    f"{name} deletes the indices that the state does not name",
                    **{name: {"data": 0}},
                )
            if not master.knows and it.data and rule == "fixed":
                yield does(
                    f"{name} offers its dangling indices, and the master takes them",
                    master={"knows": True, "imported": True},
                )

    return Incident(
        nodes={
            "master": {"knows": True, "imported": False},
            "d1": {"data": 9},
            "d2": {"data": 9},
        },
        steps=steps,
        claims=[
            kept(9),
            sometimes("a blank master leads", lambda view: not view["master"].knows),
        ],
        faults={"the masters and their data folders are lost": 1},
    )


@incident(
    "patroni-start-order",
    "PostgreSQL, Patroni",
    "https://github.com/patroni/patroni/issues/2175",
    deployed=("the old leader is started first, leads, and the newer one is rewound to it", 8),
    fixed=("synchronous_mode: etcd has the last leader, and no other one leads alone", None),
)
def start_order(rule: Rule) -> Incident:
    """Two PostgreSQL servers under Patroni.  Server 1, the leader, is switched off; server 2 is
    promoted and takes writes.  Then server 2 is switched off, too, and server 1 is started first.
    The leader key in etcd has expired, no other member is there to compare with, so server 1
    becomes the leader with its older data.  Server 2 comes back, is rewound to the new timeline,
    and its transactions are lost.
    """

    def steps(view: View) -> Iterator[Together]:
        for name, rival in (("s1", "s2"), ("s2", "s1")):
            it, other = view[name], view[rival]
            if it.serves:
                yield fault("the leader is switched off", **{name: DOWN})
                if other.up:
                    yield from spread(view, name, to=[rival])
                if other.up and it.data == other.data and len(view["etcd"].may_lead) == 1:
                    yield does(f"{rival} is in sync", etcd={"may_lead": ("s1", "s2")})
            elif not it.up:
                yield does(f"{name} is started", **{name: {"up": True}})
            elif rule == "fixed" and name not in view["etcd"].may_lead:
                continue
            elif not other.up or (not other.serves and it.data >= other.data):
                yield does(
                    f"{name} leads, because it sees no newer server", **{name: {"serves": True}}
                )
        if view["s2"].serves and not view["s1"].up and view["s2"].data == 5:
            alone = {"may_lead": ("s2",), "newest": 9}
            yield does("s2 takes writes", s2={"data": 9}, etcd=alone)

    return Incident(
        nodes={
            "s1": {**UP, "data": 5},
            "s2": {"up": True, "serves": False, "data": 5},
            "etcd": {"may_lead": ("s1", "s2"), "newest": 5},
        },
        steps=steps,
        claims=[
            always(
                "what was acknowledged is on a disk",
                lambda v: v["etcd"].newest in (v["s1"].data, v["s2"].data),
            ),
            can_serve(),
            sometimes("the standby takes writes", lambda view: view["etcd"].newest == 9),
        ],
        faults={"the leader is switched off": 2},
    )


@incident(
    "etcd-pod-0",
    "etcd, K3s in Kubernetes",
    "https://github.com/rancher/k3k/issues/836",
    deployed=("the first pod lost its directory, and bootstraps a cluster of its own", 2),
    fixed=("a blank pod asks the others first, and is added as a new member", None),
)
def etcd_pod_0(rule: Rule) -> Incident:
    """The first server of an etcd StatefulSet (server-0) is the one that bootstraps.  Its
    directory is removed, or its PVC is deleted, to make a broken member rejoin.  The pod is started
    again, finds an empty data directory and no member of its name, and silently bootstraps a
    parallel etcd cluster with a fresh cluster id.  The pod is behind the same service as the other
    two: kubectl shows one cluster or the other.  Bitnami's chart tried the same (bitnami/charts
    901).
    """
    names = ("server-0", "server-1", "server-2")

    def steps(view: View) -> Iterator[Together]:
        if view["server-0"].serves:
            gone = {"serves": False, "cluster": ""}
            yield fault("the directory of server-0 is removed", **{"server-0": gone})
        elif rule == "deployed":
            new = {"serves": True, "cluster": "new"}
            yield does("server-0 bootstraps a cluster", **{"server-0": new})
        for name in names:
            if not view[name].serves:
                back = {"serves": True, "cluster": "old"}
                yield does(f"{name} is added by the others, and catches up", **{name: back})

    return Incident(
        nodes={name: {"serves": True, "cluster": "old"} for name in names},
        steps=steps,
        claims=[one_cluster(), all_serve(), can_serve()],
        faults={"the directory of server-0 is removed": 1},
    )


@incident(
    "rabbitmq-forgotten-replicas",
    "RabbitMQ, quorum queues",
    "https://github.com/rabbitmq/rabbitmq-server/pull/15729",
    deployed=("a node leaves the metadata, and its replicas of queues stay members", 3),
    fixed=("the replicas are removed from the queues first, and then the node", None),
)
def forgotten_replicas(rule: Rule) -> Incident:
    """An operator runs rabbitmqctl forget_cluster_node for a RabbitMQ node that is gone.  The
    node is taken out of the metadata cluster first, and the replicas of its quorum queues second.
    The command is killed between the two, or times out.  Each quorum queue still counts a member
    on a node that no longer exists.  When one more node fails, the queues have lost their
    majority, although the cluster has not.
    """

    def steps(view: View) -> Iterator[Together]:
        tool = view["tool"]
        first, second = ("node", "replica") if rule == "deployed" else ("replica", "node")
        if tool.runs and getattr(tool, first):
            yield does(f"the {first} is removed", tool={first: False})
        elif tool.runs and getattr(tool, second):
            yield does(f"the {second} is removed", tool={second: False})
        elif tool.runs:
            yield does("the command is done", tool={"runs": False})
        if tool.runs and not tool.is_cut:
            yield fault("the command is killed", tool={"runs": False, "is_cut": True})
        if not tool.node and not tool.runs:
            yield does(
                "the operator believes that the node is removed", tool={"is_believed_removed": True}
            )

    first = {
        "runs": True,
        "node": True,
        "replica": True,
        "is_cut": False,
        "is_believed_removed": False,
    }
    return Incident(
        nodes={"tool": first},
        steps=steps,
        claims=[
            always(
                "a node that is removed is no member of a queue",
                lambda v: not (v["tool"].is_believed_removed and v["tool"].replica),
            ),
            sometimes("a node is removed", lambda view: view["tool"].is_believed_removed),
            sometimes("the command is killed", lambda view: view["tool"].is_cut),
        ],
        faults={"the command is killed": 1},
    )


@incident(
    "raft-blank-rejoin",
    "etcd's Raft library, Formance ledger",
    "https://github.com/formancehq/ledger/pull/1478",
    deployed=("a member of the same name comes back blank, and is counted as it was", 3),
    fixed=("the join is refused until a person removes the member: it is added as a new one", None),
)
def blank_rejoin(rule: Rule) -> Incident:
    """A member of a Raft group loses its disk.  The node is re-added with the same name and id, and
    an empty log.  The leader still counts that member's former confirmations, and tells it to
    commit up to that index: "tocommit is out of range [lastIndex(0)]".  The blank member panics, is
    restarted and panics again, for forty minutes, until a person removes the member and adds it as
    a new one.  etcd members show the same (etcd issue 20269).
    """

    def steps(view: View) -> Iterator[Together]:
        counted, member = view["leader"].counted, view["member"]
        if member.log == 9:
            yield fault("the member loses its disk", member={"log": 0, "up": False})
        elif not member.up and (rule == "deployed" or not counted):
            yield does("the member is started again under its name", member={"up": True})
        elif not member.up:
            yield does("a person removes the member, and adds it", leader={"counted": 0})
        elif counted:
            yield does(
                "the member is told to commit entries that it does not have",
                member={"panics": True},
            )
        else:
            yield does("the member gets a snapshot", member={"log": 9}, leader={"counted": 9})

    whole = always_possible("the member can be whole", lambda view: view["member"].log == 9)
    return Incident(
        nodes={"leader": {"counted": 9}, "member": {"up": True, "log": 9, "panics": False}},
        steps=steps,
        claims=[
            always("no member panics", lambda view: not view["member"].panics),
            sometimes("it is started again", lambda v: v["member"].up and v["member"].log == 0),
            *([whole] if rule == "fixed" else []),
        ],
        faults={"the member loses its disk": 1},
    )


@incident(
    "galera-each-its-own",
    "Galera, Pacemaker resource agent",
    "https://github.com/ClusterLabs/resource-agents/pull/939",
    deployed=("where no node has data, each takes itself for the one to bootstrap", 2),
    fixed=("where no node has data, the last one in wsrep_cluster_address bootstraps", None),
)
def each_its_own(rule: Rule) -> Incident:
    """A new Galera cluster under Pacemaker has three nodes and no data, so no sequence number is
    the highest.  The resource agent then falls back to "the current node".  It runs on every node,
    and on each the current node is that node itself.  All three are promoted, and three clusters of
    one node each bootstrap at the same time.
    """

    def steps(view: View) -> Iterator[Together]:
        for name in THREE:
            if view[name].serves:
                continue
            if rule == "deployed" or name == "n3":
                yield does(f"{name} bootstraps", **{name: {"serves": True, "cluster": name}})
            for other in THREE:
                if view[other].serves:
                    joined = {"serves": True, "cluster": view[other].cluster}
                    yield does(f"{name} joins {other}", **{name: joined})

    return Incident(
        nodes={name: {"serves": False, "cluster": ""} for name in THREE},
        steps=steps,
        claims=[one_cluster(), all_serve(), can_serve()],
    )


@incident(
    "kafka-last-replica",
    "Kafka partitions",
    "https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    deployed=("the last replica in sync loses its tail in a power failure, and leads again", 7),
    fixed=("a replica that ended unclean leaves the set; one that had all may be elected", None),
)
def last_replica(rule: Rule) -> Incident:
    """The replicas of a Kafka partition fall out of the in-sync set (ISR) one by one, until the
    leader is the last one in it.  It is killed by a power failure, and unflushed writes are gone.
    It comes back, is the only member of the set and is elected again, without an unclean leader
    election.  The others hold the acknowledged records, and truncate to the leader.
    """
    names = ("r1", "r2", "r3")

    def steps(view: View) -> Iterator[Together]:
        for name in ("r2", "r3"):
            if view[name].sync:
                yield fault(
                    "a follower falls behind, and out of the set", **{name: {"sync": False}}
                )
        alone = not (view["r2"].sync or view["r3"].sync)
        if view["r1"].serves and alone:
            lost = {**DOWN, "data": 5, "sync": rule == "deployed"}
            yield fault("the power fails at r1, and its tail is lost", r1=lost)
        if not view["r1"].up:
            yield does("r1 is started", r1={"up": True})
        leads = [name for name in names if view[name].serves]
        for name in names:
            it = view[name]
            if it.up and not leads and (it.sync or (rule == "fixed" and it.had)):
                yield does(f"{name} is elected", **{name: {"serves": True, "sync": True}})
        for name in leads:
            yield from spread(view, name, to=[one for one in names if view[one].up])

    first = {"up": True, "sync": True, "data": 9}
    return Incident(
        nodes={
            "r1": {**first, "serves": True, "had": False},
            "r2": {**first, "serves": False, "had": True},
            "r3": {**first, "serves": False, "had": True},
        },
        steps=steps,
        claims=[kept(9), can_serve(), sometimes("the leader is alone", lambda v: not v["r1"].up)],
        faults={
            "a follower falls behind, and out of the set": 2,
            "the power fails at r1, and its tail is lost": 1,
        },
    )
