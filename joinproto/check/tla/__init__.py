"""A world as a module of TLA+, so that another checker can search it.

The answers of members' code are data; network, faults and joint steps are operators, written again
in TLA+.  So the other checker relies on the answers, but not on how the search here combines them.
"""
