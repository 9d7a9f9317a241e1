"""Runs: the shortest run to a state, random runs, and the results of a finished search.

Read `paths.py` first: it finds a shortest run again without parent pointers.
"""
