"""Incidents: how real clusters lost data, split or stood still, each as a small world."""

# Each of these modules registers its incidents in the catalogue.
from joinproto_worlds.incidents import failover, galera, messaging, returns, seeds, stores

__all__ = ["failover", "galera", "messaging", "returns", "seeds", "stores"]
