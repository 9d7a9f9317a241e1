"""What is claimed of any number of members, and the mappings that link it to the worlds."""
