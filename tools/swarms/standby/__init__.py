"""Brokers of hot standby in random orders: what is drawn, how it is played, what must hold."""
