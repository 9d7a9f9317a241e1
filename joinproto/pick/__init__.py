"""Picking: which of several stores is the latest, and what proves it.  Deciding only."""
