"""Random runs of hot-standby brokers: scenarios, their runs, and the claims."""
