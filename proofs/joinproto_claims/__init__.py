"""Claims for any number of members, and the mappings that link the layers to searched worlds."""
