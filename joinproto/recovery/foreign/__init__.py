"""Directories of other brokers: read, never written.  `detect.py` says whose one is."""
