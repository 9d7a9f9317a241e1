"""Worlds of hot standby: the shipped promotion where brokers die, come back and are dropped."""
