"""Integrations with other brokers and libraries; each has its own extra."""
