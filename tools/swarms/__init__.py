"""Random orders by program: whole hosts of a system in one process, in virtual time.

    python -m tools.swarms standby --seed 1 --events 200 --runs 100
    python -m tools.swarms clusterer --seed 1 --runs 100
    python -m tools.swarms reconcile --runs 1000
    python -m tools.swarms discovery --runs 1000

The shipped code runs: the machine, its host, its links and its store.  The network, the disks and
the clock are simulated, and an oracle that knows nothing of the machine checks the claims.

It stands here and not in `joinproto/swarm`, because that one is for members, which others embed and
may want to try themselves.  Brokers of hot standby and nodes of the Clusterer are processes that
that are not embedded, and so is the keeper of replicas.
"""
