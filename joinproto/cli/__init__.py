"""The command line: commands, and what they print, draw, replay and validate."""
