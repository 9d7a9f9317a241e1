"""Deciding: pure functions and tables.  No disk, socket, clock or random number."""
