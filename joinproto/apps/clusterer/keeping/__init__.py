"""The stored config on disk, beside the broker's data: the doing part of the Clusterer's room."""
