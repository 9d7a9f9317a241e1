"""Discovery: how a node that starts finds its peers, and whether two nodes found two clusters.

Without I/O, clock or chance, the package decides the effect of a setting in a release, the requests
to each backend, the meaning of its answers, and a node's next action.  Code that talks to a server
is in `joinproto/apps/discovery`.  The package imports `joinproto.machine` (the language of the
tables) and no other system; `models` and `tools` import it.

Read `boot.py` first, with docs/discovery.md; for the settings `keys.py`.
"""
