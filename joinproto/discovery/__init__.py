"""Discovery: how a node that starts finds its peers, and whether two of them found two clusters.

One reason to exist: to say, without I/O, clock or chance, what a setting means to a release, what
each backend is asked and what follows from its answer, and what a node does next.  What talks to
a server stands in files of its own.  It imports `joinproto.machine` (the language of the tables)
and no other system; `models` and `tools` import it.

Read `boot.py` first, with docs/discovery.md; for the settings `keys.py`.
"""
