"""Reconciliation alongside a real RabbitMQ: reading it, changing it, and a file that remembers.

It performs the decisions of `joinproto/reconcile/keeper.py`.  It may import all of
`joinproto.reconcile`, and from outside httpx and prometheus_client (the extra `reconcile`).
"""
