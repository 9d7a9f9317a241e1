"""Claims about whole runs, on the graph of a finished search.

Read `graph.py` first.  The duties of fairness are in `duties.py`.  `joinproto/check/lassos.py`
finds the lasso, both for this engine and for the search in plain Python.
"""
