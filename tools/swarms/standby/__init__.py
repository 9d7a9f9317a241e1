"""Brokers of hot standby in random orders: drawing, playing, claims."""
