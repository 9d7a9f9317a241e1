"""The recovery tool: `joinproto recover`.  Begin at `found.py` (values) and `cli.py`."""
