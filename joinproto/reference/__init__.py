"""Systems as others wrote them, which should never be run: the join note, and Qpid as it is."""
