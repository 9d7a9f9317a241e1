"""Textbook protocols: small worlds from which to learn the language of models."""
