"""`make bench`: joinproto and its peers, on the same space, on one machine.

`run` says what is measured and in which order, `results` what comes out; `oracle` knows the
right counts; `report` and `plot` write it down; `peers/` holds what joinproto is compared
with.
"""
