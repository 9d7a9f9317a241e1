"""The metadata of a store on disk: one small record that changes as a whole.

Begin at `handle.py` (open, create, write).
"""
