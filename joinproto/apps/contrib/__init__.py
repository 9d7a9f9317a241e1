"""Integrations: brokers and libraries of others, each with an extra of its own."""
