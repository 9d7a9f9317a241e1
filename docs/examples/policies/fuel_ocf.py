"""How the resource agent of Fuel (Pacemaker) rebuilds a Galera cluster by itself.

Each node writes its uuid and its seqno into Pacemaker's configuration, and waits 300 seconds for
others to do so.  Of the nodes that are in Corosync's quorum and have one history, the node with the
highest seqno is started as a new cluster.  (fuel-docs, "HowTo: Galera Cluster Autorebuild".)
"""

from collections import Counter


def choose_founder(facts):
    reported = [one for one in facts["stores"] if one["seq"] is not None and one["cluster"]]
    has_quorum = 2 * len(facts["stores"]) > len(facts["nodes"])
    if not reported or not has_quorum:
        return "wait"
    ((uuid, _),) = Counter(one["cluster"] for one in reported).most_common(1)
    same = [one for one in reported if one["cluster"] == uuid]
    return max(same, key=lambda one: one["seq"])["host"]
