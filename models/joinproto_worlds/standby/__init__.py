"""Worlds of hot standby: the shipped brokers, which die, come back and are cut off."""
