"""A replicated log behind a member: frames that every member of the view holds durably.

It stands for a broker's own log: `joinproto node` shows it, `joinproto.apps.contrib` uses it.  No
sockets here; a driver carries its messages (`joinproto/host/ports.py`).
"""
