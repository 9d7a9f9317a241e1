"""Rows of 64-bit words: how a state is packed into one, and sets of rows.

Read `layout.py` first (where each part of a state lies), then `rowset.py` (the states that are
known).  The hash of a row is `hash_of` in `bits.py`.  No module here knows the meaning of a row.
"""
