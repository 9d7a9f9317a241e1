"""A hot-standby broker as a process: AMQP 1.0 to clients, a TCP session with each other broker."""
