"""The successors of rows, by compiled loops over the tables.

Read `expansion.py` first, the loop over rows; `buffers.py` has its input and output.  Steps are
listed in `listing.py` (for messages in queues, in `receive_lists.py`), and written in `writing.py`.
Where contents of sets are numbered, `deliveries.py` lists their messages, and `own_steps.py` has
members' own steps; `sleeping.py` says which steps need not be written.  `expander.py` calls the
loop and has missing answers filled in; `workers.py` does the same in several threads.
"""
