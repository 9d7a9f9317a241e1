"""Directories of other brokers: read, never written."""
