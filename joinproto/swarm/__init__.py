"""Swarm: members of one cluster in one process, with a simulated network, disk and clock.

    outcome = run(draw(seed))               one run; its configuration is drawn, too
    smaller = shrink(outcome, run)          the same failure, with fewer events
    tally = many(seconds=60, jobs=2)        as many runs as fit into this time

Member, log and store are the shipped code.  The claims about a run are in `oracle.py` and
`rest.py`, which share no code with the member.  `run(start=...)` plays members of your own.
"""
