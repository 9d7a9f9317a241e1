"""The files of a node next to its service's data: its config, its members, and electors."""
