"""Reconciliation: whether a replicated queue gains or loses a replica, and why.

One reason to exist: to decide, for one queue at a time, without I/O, clock or chance.  Code that
talks to a broker is in other files.  It imports `joinproto.machine` (the language of the tables)
and no other system; `models`, `proofs` and `tools` import it.

Read `tables.py` first, with docs/reconcile.md.
"""
