"""The journal: records one after another in one file, and an index of them."""
