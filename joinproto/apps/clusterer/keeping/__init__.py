"""The stored config on disk, next to the broker's data: the doing part of the Clusterer's room."""
