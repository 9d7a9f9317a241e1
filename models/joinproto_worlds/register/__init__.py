"""The worlds in which one successor of a view is chosen, and an abstract register of views."""
