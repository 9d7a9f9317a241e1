"""The rules of the join note and of Qpid as they are, for comparison; no broker runs them."""
