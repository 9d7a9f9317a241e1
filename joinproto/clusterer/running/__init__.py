"""The old name of `joinproto.apps.clusterer`; it goes with the next version."""
