"""Incidents in which one node is the seed by its name, and is blank, late or replaced."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import always_possible, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together
from joinproto_worlds.incidents.catalogue import Rule, incident
from joinproto_worlds.incidents.words import (
    DOWN,
    UP,
    Incident,
    all_serve,
    can_serve,
    clusters,
    does,
    fault,
    one_cluster,
    serving,
)


@incident(
    "scylla-own-seed",
    "Scylla, scylla-operator",
    "https://github.com/scylladb/scylla-operator/issues/1349",
    deployed=("a node that finds no other seed takes itself for one", 3),
    fixed=("a node that is not the first waits until another node is ready", None),
)
def own_seed(rule: Rule) -> Incident:
    """A new Scylla cluster in Kubernetes: node 0 is up, and is evicted before node 1 starts for
    the first time.  Node 1 looks for a seed, finds no other pod that is ready, and uses its own
    address.  It bootstraps by itself.  Node 0 comes back with its own data: two clusters of one
    name, with one node each, and neither sees the other.
    """

    def steps(view: View) -> Iterator[Together]:
        n0, n1 = view["n0"], view["n1"]
        if n0.up:
            yield fault("node 0 is evicted", n0={"up": False})
        else:
            yield does("node 0 comes back", n0={"up": True})
        if not n1.cluster and n0.up:
            yield does("node 1 joins its seed, node 0", n1={**UP, "cluster": "n0"})
        if not n1.cluster and not n0.up and rule == "deployed":
            yield does(
                "node 1 finds no seed, and is its own",
                n1={**UP, "cluster": "n1"},
            )

    return Incident(
        nodes={
            "n0": {**UP, "cluster": "n0"},
            "n1": {**DOWN, "cluster": ""},
        },
        steps=steps,
        claims=[one_cluster(), all_serve(), can_serve()],
        faults={"node 0 is evicted": 1},
    )


@incident(
    "mongodb-member-0",
    "MongoDB replica set",
    "https://github.com/sclorg/mongodb-container/issues/304",
    deployed=("member 0 lost its volume, and initiates a second replica set", 2),
)
def member_0(rule: Rule) -> Incident:
    """The entry script of the MongoDB StatefulSet runs rs.initiate() in the pod with ordinal 0,
    if its data directory is empty.  Pod 0 loses its persistent volume and is rescheduled.  It
    initiates a new replica set of the same name.  The other members have another replica set
    id and do not talk to it; clients that go through the service see one set or the other.
    """
    names = ("m0", "m1", "m2")

    def steps(view: View) -> Iterator[Together]:
        if view["m0"].serves:
            yield fault("pod 0 loses its volume", m0={"serves": False, "cluster": ""})
        for name in names:
            if not view[name].serves:
                yield does(f"the others add {name}", **{name: {"serves": True, "cluster": "rs-1"}})
        if not view["m0"].cluster:
            yield does("pod 0 runs rs.initiate()", m0={"serves": True, "cluster": "rs-2"})

    return Incident(
        nodes={name: {"serves": True, "cluster": "rs-1"} for name in names},
        steps=steps,
        claims=[one_cluster(), all_serve(), can_serve()],
        faults={"pod 0 loses its volume": 1},
    )


@incident(
    "opensearch-bootstrap-pod",
    "OpenSearch operator",
    "https://github.com/opensearch-project/opensearch-k8s-operator/issues/897",
    deployed=("the founder is replaced in the middle of the founding, and founds again", 3),
)
def bootstrap_pod(rule: Rule) -> Incident:
    """A temporary bootstrap pod forms the OpenSearch cluster; it has no volume.  While the
    first node joins, the bootstrap pod is moved to another Kubernetes node and starts empty.
    It forms a cluster with a new cluster UUID.  Nodes that joined the first one are locked into
    its UUID, and are refused for ever: master not discovered, locked into cluster UUID.
    """
    names = ("n1", "n2")

    def steps(view: View) -> Iterator[Together]:
        boot = view["boot"]
        if not boot.cluster:
            new = {"cluster": boot.founded + 1, "founded": boot.founded + 1}
            yield does("the bootstrap pod forms a cluster", boot=new)
        elif len(serving(view)) < 2:
            yield fault("the bootstrap pod is moved", boot={"cluster": 0})
        for name in names:
            if boot.cluster and not view[name].cluster:
                yield does(
                    f"{name} joins, and keeps its UUID",
                    **{name: {"serves": True, "cluster": boot.cluster}},
                )

    def together(view: View) -> bool:
        return len(serving(view)) == 2 and len(clusters(view)) == 1

    blank = {"serves": False, "cluster": 0}
    return Incident(
        nodes={"boot": {"cluster": 0, "founded": 0}, **dict.fromkeys(names, blank)},
        steps=steps,
        claims=[
            always_possible("all can be in one cluster", together),
            sometimes("all are in one cluster", together),
        ],
        faults={"the bootstrap pod is moved": 1},
    )
