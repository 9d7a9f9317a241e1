"""States of which one stands for others: renamed members, and what a world calls the same.

Read `symmetry.py` first.  `interchangeable.py` asks the code whether members are interchangeable.
"""
