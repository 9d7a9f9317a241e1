"""Systems as others wrote them, which nobody should run: the join note, and Qpid as it is."""
