"""Random runs of systems: whole hosts of a system in one process, in virtual time.

    python -m tools.swarms standby --seed 1 --events 200 --runs 100
    python -m tools.swarms clusterer --seed 1 --runs 100
    python -m tools.swarms reconcile --runs 1000
    python -m tools.swarms discovery --runs 1000

The shipped code runs: the machine, its host, its links and its store.  The network, the disks and
the clock are simulated, and an oracle that shares no code with the machine checks the claims.

`joinproto/swarm` has the random runs of members, which users embed.
"""
