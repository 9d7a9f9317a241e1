"""Readers of other brokers' directories; they never write."""
