"""Protocols of the textbooks: small worlds to learn the language from."""
