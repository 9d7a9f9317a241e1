"""Claims about states, each evaluated once for each combination of observations.

Read `judge.py` first; it calls a claim's function through `joinproto/check/asking.py`.
`watching.py` finds rows that break a claim about one member or two, `combinations.py` numbers
combinations of observations, and `found.py` keeps the first hits.
"""
