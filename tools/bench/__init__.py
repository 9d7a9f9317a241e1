"""`make bench` measures joinproto and other checkers on the same models, on one machine.

`run` measures, in order; `results` has the results' classes; `oracle` has the known counts;
`report` and `plot` print and draw results; `peers/` has the tools that joinproto is compared with.
"""
