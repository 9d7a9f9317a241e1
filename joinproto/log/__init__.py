"""A replicated log behind a member: frames that every member of the view holds durably.

It is what a broker would have of its own: `joinproto node` shows it, `joinproto.apps.contrib` uses
it.  No sockets here; a driver carries what it says (`joinproto/host/ports.py`).
"""
