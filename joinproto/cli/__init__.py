"""The command line: commands, and their output, drawings, replays and validation."""
