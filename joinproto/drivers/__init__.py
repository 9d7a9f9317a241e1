"""The old name of `joinproto.host` and `joinproto.net`; it goes with the next version."""
