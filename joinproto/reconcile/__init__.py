"""Reconciliation: whether a replicated queue gains or loses a replica, and why.

The package decides for one queue at a time, without I/O, clock or chance.  Code that talks to a
broker is in `joinproto/apps/reconcile`.  The package imports `joinproto.machine` (the language of
the tables) and no other system; `models`, `proofs` and `tools` import it.

Read `tables.py` first, with docs/reconcile.md.
"""
