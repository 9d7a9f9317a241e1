"""Hot-standby brokers under a manager that kills the primary, and clients that count messages."""
