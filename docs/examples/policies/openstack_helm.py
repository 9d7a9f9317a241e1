"""How the MariaDB chart of openstack-helm chooses the node that leads a restart of all nodes.

Its start script (mariadb/templates/bin/_start.py.tpl) keeps each pod's grastate.dat in a ConfigMap.
The pod with the highest seqno leads; of several such pods, the first by name.  The history's uuid
is kept there, too, but not compared; a pod without a report does not count as missing.
"""


def choose_founder(facts):
    seqnos = {}
    for store in facts["stores"]:
        if store["seq"] is not None:
            seqnos[store["host"]] = store["seq"]
    if not seqnos:
        return "wait"
    highest = max(seqnos.values())
    return min(name for name, seqno in seqnos.items() if seqno == highest)
