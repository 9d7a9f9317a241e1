"""Reconciliation at scale: many queues on many nodes over simulated days.

Simulated: nodes, copies, time.  Shipped: what decides (`evaluate`), and when (`Clock`).
`joinproto reconcile simulate` runs it; docs/reconcile.md tells what came out.
"""
