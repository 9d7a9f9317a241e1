"""The project's own package."""

PHASES = ("waits", "works")
