"""Claims about states, each evaluated once for each combination of observations.

Read `judge.py` first; it calls a claim's function through `joinproto/check/asking.py`.
`watching.py` finds rows that break a claim about one member or two, `combinations.py` numbers all
observations of a row together, and `found.py` keeps the first hits.
"""
