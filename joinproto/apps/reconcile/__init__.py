"""Reconciliation alongside a real RabbitMQ: reading it, changing it, and a file that remembers.

One reason to exist: to do what `joinproto/reconcile/keeper.py` decides.  It may import all of
`joinproto.reconcile`, and from outside httpx and prometheus_client (the extra `reconcile`).
"""
