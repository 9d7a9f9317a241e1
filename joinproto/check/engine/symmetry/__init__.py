"""Merging states that differ by renamed members, and states that a world calls the same.

Read `symmetry.py` first.  `canonical.py` finds the canonical form of a row, the one state that
stands for all its renamings.  `interchangeable.py` checks that the code treats interchangeable
members alike.  `same_states.py` has the states that a world calls the same.
"""
