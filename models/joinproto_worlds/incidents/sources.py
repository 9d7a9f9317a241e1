"""All incidents: importing this enters each of them in the catalogue."""

from joinproto_worlds.incidents import failover, galera, messaging, returns, seeds, stores

__all__ = ["failover", "galera", "messaging", "returns", "seeds", "stores"]
