"""Incidents of Galera: which of several stores may found the cluster again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from joinproto.check.properties import sometimes
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
    nodes_with,
    one_cluster,
    serving,
)

PODS = ("pod0", "pod1", "pod2")


def joining(view: View, names: tuple[str, ...], **more: Any) -> Iterator[Together]:
    """Yield the steps by which nodes that are down join a node that serves, and get its data."""
    for one in serving(view)[:1]:
        for name in names:
            if not view[name].up:
                taken = {**UP, "data": view[one].data, **more}
                yield does(f"{name} joins {one}, whose data replace its own", **{name: taken})


@incident(
    "galera-last-leaver",
    "Galera, kolla-ansible",
    "https://bugs.launchpad.net/kolla-ansible/+bug/1682153",
    deployed=("the highest number in grastate.dat bootstraps: that of the first to leave", 4),
    fixed=("the playbook stops where a number is -1, until a person reads the positions", None),
)
def last_leaver(rule: Rule) -> Incident:
    """One MariaDB node was stopped in order weeks ago, so its grastate.dat has a real seqno.
    The other two continued, and a power cut killed them: their seqno is -1.  The recovery playbook
    bootstraps the node with the highest sequence number.  That is the old node, and the newer
    databases are overwritten by a state transfer, without a backup.
    """
    nodes = ("n1", "n2", "n3")
    new = {**UP, "data": 9, "number": -1}

    def steps(view: View) -> Iterator[Together]:
        if view["n2"].up and view["n3"].up:
            yield fault("the power fails", n2=DOWN, n3=DOWN)
        yield from joining(view, nodes, number=-1)
        if not nodes_with(view, up=True):
            lacks_a_number = bool(nodes_with(view, number=-1))
            if rule == "fixed" and lacks_a_number:
                found = {name: {"number": view[name].data} for name in nodes}
                yield does("a person reads the positions: mysqld --wsrep-recover", **found)
            else:
                best = max(nodes, key=lambda name: view[name].number)
                yield does(f"the playbook bootstraps {best}", **{best: {**UP, "number": -1}})

    return Incident(
        nodes={"n1": {**DOWN, "data": 5, "number": 5}, "n2": new, "n3": new},
        steps=steps,
        claims=[kept(9), can_serve(), all_serve(2)],
        faults={"the power fails": 1},
    )


@incident(
    "galera-ordinal-0",
    "Galera, Bitnami chart",
    "https://github.com/bitnami/charts/issues/2260",
    deployed=("only pod 0 may bootstrap, it is not safe there, and no other pod is started", 1),
    fixed=("forced to bootstrap from pod 1, the chart does so again at its next restart", 5),
)
def ordinal_0(rule: Rule) -> Incident:
    """After a node outage all mariadb-galera pods are in CrashLoopBackOff: safe_to_bootstrap is 0
    and seqno -1 in every grastate.dat.  Pod 1 has the most data, but the StatefulSet starts
    pod 0 first, and pod 0 says that it is not safe to bootstrap from this node.  With the force
    bootstrap setting of the chart left in place, the next restart of that pod bootstraps a
    second cluster.
    """
    pods = {pod: {**UP, "data": 9 if pod == "pod1" else 8, "cluster": 1} for pod in PODS}
    faults = {"the node with all pods goes down": 1}

    def steps(view: View) -> Iterator[Together]:
        founded = max(view[pod].cluster for pod in PODS)
        if len(serving(view)) == 3:
            yield fault("the node with all pods goes down", **dict.fromkeys(PODS, DOWN))
        yield from joining(view, PODS, cluster=founded)
        mine = {**UP, "cluster": founded + 1}
        if rule == "fixed" and not serving(view):
            forced = {"forced": True}
            yield does("a person forces the bootstrap from pod1", pod1=mine, chart=forced)
        if view["chart"].forced and not view["pod1"].up:
            yield does("pod1 bootstraps, as the chart's values still say", pod1=mine)
        if view["chart"].forced and view["pod1"].up:
            yield fault("pod1 is restarted", pod1=DOWN)

    return Incident(
        nodes={**pods, "chart": {"forced": False}},
        steps=steps,
        claims=[one_cluster(), can_serve(), all_serve()],
        faults={**faults, "pod1 is restarted": 1} if rule == "fixed" else faults,
    )


@incident(
    "galera-pod-0",
    "Galera, KubeBlocks",
    "https://github.com/apecloud/kubeblocks-addons/pull/2997",
    deployed=("pod 0 marks itself safe and founds, whatever the others have", 3),
    fixed=("pod 0 founds only where its own disk is marked safe: nothing is lost", None),
    left=("closed in order with the mark on pod 1, no pod ever starts", 1),
)
def pod_0(rule: Rule) -> Incident:
    """All three pods crash, and their sequence numbers are 7, 8 and 9.  The start script of
    pod 0 writes safe_to_bootstrap: 1 into its own grastate.dat and bootstraps the cluster, so
    the oldest copy becomes the primary and the newest is overwritten by SST.  The fix refuses
    without a mark.  Its reviewer found the dead end: after a clean shutdown the mark may be on
    pod 1, and then no pod starts.
    """
    pods = {pod: {**UP, "data": 7 + at, "flag": 0} for at, pod in enumerate(PODS)}

    def steps(view: View) -> Iterator[Together]:
        if len(nodes_with(view, up=True)) == 3:
            if rule != "left":
                yield fault("all pods crash", **dict.fromkeys(PODS, DOWN))
            for last in PODS:
                marked = {pod: {**DOWN, "data": 9, "flag": int(pod == last)} for pod in PODS}
                yield does(f"all pods are stopped in order, {last} last", **marked)
        yield from joining(view, PODS, flag=0)
        if not nodes_with(view, up=True) and (rule == "deployed" or view["pod0"].flag):
            yield does("pod0 founds the cluster, and marks itself safe", pod0={**UP, "flag": 1})

    return Incident(
        nodes=pods,
        steps=steps,
        claims=[kept(9), all_serve(), *([can_serve()] if rule == "left" else [])],
        faults={} if rule == "left" else {"all pods crash": 1},
    )


@incident(
    "galera-zero-uuid",
    "Galera, mariadb-operator",
    "https://github.com/mariadb-operator/mariadb-operator/issues/1701",
    deployed=(
        "a time-out makes the operator forget, and a node without any data is marked safe",
        7,
    ),
    fixed=("what was read is kept, and a node without a uuid never bootstraps", None),
)
def zero_uuid(rule: Rule) -> Incident:
    """The operator recovers a Galera cluster: pod 0 was killed (out of memory), pod 2 has the best
    sequence number, and bootstrapping from pod 2 times out.  The operator starts over and forgets
    earlier findings.  Now pod 1, which never finished its first sync, reports uuid
    00000000-0000-0000-0000-000000000000, seqno -1 and safe_to_bootstrap 1, and is chosen.  The
    cluster is recovered into an empty state.
    """
    pods = {
        "pod0": {**DOWN, "data": 8, "flag": 0, "answers": False},
        "pod1": {**DOWN, "data": 0, "flag": 1, "answers": False},
        "pod2": {**DOWN, "data": 9, "flag": 0, "answers": True},
    }
    forgets = rule == "deployed"

    def steps(view: View) -> Iterator[Together]:
        operator = view["operator"]
        yield from joining(view, PODS)
        if serving(view):
            return
        for pod in PODS:
            if view[pod].answers and pod not in operator.read and not operator.tries:
                read = {"read": tuple(sorted((*operator.read, pod)))}
                yield does(f"the operator reads the state of {pod}", operator=read)
        able = [pod for pod in operator.read if forgets or view[pod].data]
        if able and not operator.tries:
            best = max(able, key=lambda pod: (view[pod].flag, view[pod].data))
            yield does(f"the operator bootstraps from {best}", operator={"tries": best})
        if operator.tries:
            yield does(f"{operator.tries} serves", **{operator.tries: UP}, operator={"tries": ""})
            after = {"tries": "", **({"read": ()} if forgets else {})}
            back = {"answers": True}
            if not view["pod1"].answers:
                yield fault(
                    "the bootstrap times out", operator=after, pod1=back, pod2={"answers": False}
                )

    return Incident(
        nodes={**pods, "operator": {"read": (), "tries": ""}},
        steps=steps,
        claims=[kept(9), all_serve(2), can_serve()],
        faults={"the bootstrap times out": 1},
    )


@incident(
    "openstack-helm-clock",
    "Galera, openstack-helm",
    "https://github.com/openstack/openstack-helm/blob/master/mariadb/templates/bin/_start.py.tpl",
    deployed=("a report that looks old by the wall clock is not missed, and its data are lost", 4),
)
def helm_clock(rule: Rule) -> Incident:
    """The start script of each MariaDB pod writes its seqno into a ConfigMap.  The pod with
    the highest sequence number of all fresh reports becomes the leader and bootstraps; fresh is
    younger than 20 seconds by the wall clock.  The clock of one node is behind, so the report of
    the pod with the newest data looks old.  The others elect a leader without it, and it is
    overwritten when it joins.
    """
    pods = {pod: {**UP, "data": 7 + at, "fresh": True} for at, pod in enumerate(PODS)}

    def steps(view: View) -> Iterator[Together]:
        if len(serving(view)) == 3:
            yield fault("all pods crash", **dict.fromkeys(PODS, DOWN))
        if view["pod2"].fresh:
            yield fault("the clock jumps", pod2={"fresh": False})
        yield from joining(view, PODS)
        fresh = nodes_with(view, fresh=True)
        if not nodes_with(view, up=True):
            best = max(fresh, key=lambda pod: fresh[pod].data)
            yield does(f"{best} has the highest fresh number, and bootstraps", **{best: UP})

    faults = {"all pods crash": 1, "the clock jumps": 1}
    return Incident(nodes=pods, steps=steps, claims=[kept(9), all_serve(2)], faults=faults)


@incident(
    "openstack-helm-uuid",
    "Galera, openstack-helm",
    "https://github.com/openstack/openstack-helm/blob/master/mariadb/templates/bin/_start.py.tpl",
    deployed=("a higher number of another history wins: the uuid is stored and not compared", 4),
)
def helm_uuid(rule: Rule) -> Incident:
    """Two database pods hold the production data, with seqno 9.  The volume of the third one
    is from another cluster, whose uuid differs, and its sequence number is 40.  The start script
    stores the uuid in the ConfigMap and compares sequence numbers only.  The foreign volume wins
    the election, and the production data are replaced by SST.
    """
    pods = {pod: {**UP, "data": 9, "number": 9} for pod in PODS[:2]}
    pods["pod2"] = {**DOWN, "data": 0, "number": 40}

    def steps(view: View) -> Iterator[Together]:
        if len(serving(view)) == 2:
            yield fault("all pods crash", pod0=DOWN, pod1=DOWN)
        yield from joining(view, PODS)
        if not nodes_with(view, up=True):
            best = max(PODS, key=lambda pod: view[pod].number)
            yield does(f"{best} has the highest number, and bootstraps", **{best: UP})

    return Incident(
        nodes=pods,
        steps=steps,
        claims=[
            kept(9),
            sometimes("the third pod has the data", lambda view: view["pod2"].data == 9),
        ],
        faults={"all pods crash": 1},
    )
