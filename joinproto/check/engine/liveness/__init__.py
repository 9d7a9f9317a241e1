"""Claims about runs without an end, on the graph of a finished search.

Read `graph.py` first.  The duties of fairness are in `duties.py`; `joinproto/check/lassos.py` finds
the lasso, here and in plain Python.
"""
