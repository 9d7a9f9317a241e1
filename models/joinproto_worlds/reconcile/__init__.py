"""Worlds of reconciliation: the shipped decisions about the replicas of replicated queues."""
