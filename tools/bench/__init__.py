"""`make bench`: joinproto and its peers, on the same space, on one machine.

`run` has the measurements in order, `results` their results; `oracle` knows the right counts;
`report` and `plot` write it down; `peers/` holds the tools that joinproto is compared with.
"""
