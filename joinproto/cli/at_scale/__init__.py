"""Reconciliation at scale: many queues on many nodes over simulated days.

Simulated: nodes, copies, time.  Shipped code: the decision (`evaluate`), and its times (`Clock`).
`joinproto reconcile simulate` runs it; docs/reconcile.md has the results.
"""
