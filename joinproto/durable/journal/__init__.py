"""The journal: records one after another in one file, and their index."""
