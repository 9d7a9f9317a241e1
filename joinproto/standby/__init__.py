"""Hot standby: one primary serves, backups follow it, and no promotion loses a confirmed message.

It decides, without I/O, clock or chance, which broker may be promoted, which store is the best, and
the messages between a backup and a new primary.  It imports `joinproto.machine` (the language of
the tables) and no other system; `models` and `tools` import it.

Read `tables.py` first, with docs/standby.md.
"""
