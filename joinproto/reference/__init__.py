"""Other systems' rules as they are, to compare with and not to run: the join note, and Qpid."""
