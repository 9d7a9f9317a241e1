"""The old name of `joinproto.machine`; it goes with the next version."""
