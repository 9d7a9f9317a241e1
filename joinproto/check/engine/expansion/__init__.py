"""The successors of rows, by compiled loops over the tables.

Read `expansion.py` first: the loop over rows.  Messages of queues are in `takes.py`; of sets, where
their contents are numbered, in `deliveries.py`, `leads.py` and `calm.py`; steps that another order
makes good in `sleeping.py`.  `expander.py` calls the loop and has missing answers filled;
`workers.py` does the same in several threads.
"""
