"""The recovery tool, `joinproto recover`.  Begin at `found.py` (its values) and `cli.py`."""
