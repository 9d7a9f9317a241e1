"""The successors of rows, by compiled loops over the tables.

Read `expansion.py` first: the loop over rows; `buffers.py` has its input and output.  Steps are
listed in `listing.py`, those of messages of queues in `receive_lists.py`, and written in
`writing.py`.  Where contents of sets are numbered, their messages are in `deliveries.py`,
`plain_steps.py` and `own_steps.py`; steps that another order makes good in `sleeping.py`.
`expander.py` calls the loop and has missing answers filled; `workers.py` does the same in several
threads.
"""
