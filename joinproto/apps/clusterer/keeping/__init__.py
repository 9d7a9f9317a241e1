"""The stored config on disk, next to the broker's data, and the node's members."""
