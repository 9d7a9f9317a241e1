"""The old name of `joinproto.apps.contrib`; it goes with the next version."""
