"""The worlds that ship: a folder for each system; `entries.py` lists them all.

To add a world, write a file that builds it, and add a row to the `entries.py` next to that file.
The names in this package are private: programs get a world by its name from
`joinproto.check.load_world`.
"""
