"""Hot standby: one primary serves, backups follow it, and no promotion loses a confirmed message.

The package decides, without I/O, clock or chance, which broker may be promoted, which store is the
best, and which messages a backup and a new primary exchange.  It imports `joinproto.machine` (the
language of the tables) and no other system; `models` and `tools` import it.

Read `tables.py` first, with docs/standby.md.
"""
