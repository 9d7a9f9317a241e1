"""Worlds of reconciliation: the shipped decision in a Raft group that can lose its majority."""
