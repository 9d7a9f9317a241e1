"""Claims for any number of members, and the mappings that link them to the worlds."""
