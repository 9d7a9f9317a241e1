"""Reconciliation: whether a replicated queue gains or loses a replica, and why.

One reason to exist: to decide, for one queue at a time, without I/O, clock or chance.  What
talks to a broker stands in files of its own.  It imports `joinproto.machine` (the language of the
tables) and no other system; `models`, `proofs` and `tools` import it.

Read `tables.py` first, with docs/reconcile.md.
"""
