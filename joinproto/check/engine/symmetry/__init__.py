"""States of which one stands for others: renamed members, and states that a world calls the same.

Read `symmetry.py` first.  `canonical.py` finds the canonical form of a row, the one state that
stands for all its renamings.  `interchangeable.py` asks the code whether members are
interchangeable.
"""
