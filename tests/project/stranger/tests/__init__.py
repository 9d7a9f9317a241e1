"""The project's own package."""

MEMBERS = 1
