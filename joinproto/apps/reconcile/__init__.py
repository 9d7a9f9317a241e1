"""Reconciliation of a real RabbitMQ: its API, its tools, and a file that records begun changes.

This package performs the decisions of `joinproto/reconcile/keeper.py`.  It may import all of
`joinproto.reconcile`, and the libraries httpx and prometheus_client (the extra `reconcile`).
"""
