"""A broker of hot standby that runs: AMQP 1.0 to clients, a TCP session to other brokers."""
