"""Swarm: members of one cluster in one process, with a simulated network, disk and clock.

    outcome = run(draw(seed))               one run; its configuration is drawn, too
    smaller = shrink(outcome, run)          the same failure, with less that happens
    tally = many(seconds=60, jobs=2)        as many runs as there is time for

Member, log and store are the real ones.  The claims about a run are in `oracle.py` and `rest.py`,
which share nothing with the member.  Members of your own take part through `run(start=...)`.
"""
