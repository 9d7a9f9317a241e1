"""Real faults for real nodes: processes, a network in between, clients, and promises."""
