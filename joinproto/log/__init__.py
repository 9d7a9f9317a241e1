"""A replicated log behind a member: frames that every member of the view holds durably.

It is an example of a broker's own log: `joinproto node` runs it, and `joinproto.apps.contrib` uses
it.  It has no sockets; a driver carries its messages (`joinproto/host/ports.py`).
"""
