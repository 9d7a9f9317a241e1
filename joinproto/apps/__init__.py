"""Each system as a process: one system and what runs it."""
