"""The worlds that ship: a folder for each system; `entries.py` lists them all.

A world is added by a file that builds it and a row in the `entries.py` next to it.  These names are
private: programs ask `joinproto.check.load_world` for a world by its name.
"""
