"""Brokers of hot standby under a manager that kills the primary, and clients that count."""
