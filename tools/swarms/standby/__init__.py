"""Random runs of hot-standby brokers: drawing a scenario, playing it, and the claims."""
