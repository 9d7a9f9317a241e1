"""A world as a module of TLA+, so that another checker can search it.

The answers of members' code are data; network, faults and joint steps are operators, written again
in TLA+.  So members' code is believed, and how the search puts it together is not.
"""
