"""The worlds of the join note as it is written, which show the rules that lose data."""
