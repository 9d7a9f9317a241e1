"""Faults for real processes: nodes, the network between them, clients, and claims."""
