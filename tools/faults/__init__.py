"""Real faults for real nodes: processes, the network between them, clients, and claims."""
