"""How the MariaDB chart of openstack-helm chooses the node that leads a restart of all nodes.

Its start script (mariadb/templates/bin/_start.py.tpl) keeps in a ConfigMap what each pod says of
its grastate.dat.  Who leads is the pod with the highest seqno; of several the lowest in name.  The
history's uuid is kept there, too, and is not compared; a pod that says nothing is not missed.
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
