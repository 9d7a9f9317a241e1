"""Reconciliation at scale: many queues on many nodes over simulated days.

Nodes, copies and time are simulated; decisions (`evaluate`) and their times (`Clock`) are made by
the code that ships.  `joinproto reconcile simulate` runs it; docs/reconcile.md has the results.
"""
